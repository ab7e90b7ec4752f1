// SPDX-License-Identifier: Apache-2.0
// The program of each RCU pattern, in the form before it or after it.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "form.hpp"

namespace {

const examples::pattern& named(const std::string& name) {
  const auto& all = examples::all_patterns();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
  if (found != all.end()) return *found;
  std::string names;
  for (const auto& each : all) names += " " + each.name;
  throw std::runtime_error("there is no pattern '" + name + "'; there are:" + names);
}

}  // namespace

int main(int argc, char** argv) {
  std::string name = "rwlock-analogy";
  std::string form = "after";
  unsigned writes_per = 1000;
  const examples::program program{
      "rcu_patterns",
      "Threads read and write by one of the patterns of RCU: docs/patterns/.",
      {{"--pattern", &name,
        "pure-rcu, rwlock-analogy, existence-locks, nbs-writers, mark-obsolete, "
        "substitute-copy, indirection, version-number or stall-updates"},
       {"--form", &form, "before or after"},
       {"--writes-per", &writes_per, "One operation in N is a write; 0 for none", 0, 1e9}}};
  return program.main(argc, argv, [&](const examples::settings& chosen) {
    if (form != "before" && form != "after") {
      throw std::runtime_error("a form is 'before' or 'after', not '" + form + "'");
    }
    const examples::pattern& pattern = named(name);
    const auto made = pattern.make(form == "after");
    std::vector<examples::own_lines<std::uint64_t>> writes(chosen.threads);
    const auto is_writer = [&](unsigned thread) {
      return pattern.has_busy_writer && chosen.threads > 1 && thread == 0;
    };
    auto result = examples::run(chosen, [&](unsigned thread) {
      const unsigned one_in = is_writer(thread) ? 1 : pattern.has_busy_writer ? 0 : writes_per;
      return [&, random = examples::xorshift{thread}, thread, one_in]() mutable {
        writes[thread].value += made->operate(random, one_in, 1);
      };
    });
    std::uint64_t written = 0;
    for (const auto& count : writes) written += count.value;
    const auto done =
        std::accumulate(result.operations.begin(), result.operations.end(), std::uint64_t{0});
    made->check(done - written, written);
    if (pattern.has_busy_writer && chosen.threads > 1) {
      result.remark = " that read, beside a writer without a pause";
      result.operations[0] = 0;
    }
    return result;
  });
}
