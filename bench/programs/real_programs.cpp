// Programs and libraries as the distribution ships them, over each lock: operations per second by
// the number of threads. What they do is in examples/.
#include <fmt/format.h>

#include <algorithm>

#include "launcher.hpp"

namespace {

struct program {
  std::string title;
  std::vector<std::string> words;
};

std::vector<program> all_programs() {
  const std::string examples = bench::program_folder() / "examples" / "";
  return {
      {"Node.js, parse a PEM key", {BENCH_NODE, BENCH_NODE_PEM}},
      {"RE2, one object in all threads", {examples + "re2_shared"}},
      {"std::pmr pool, allocate and free", {examples + "pmr_pool"}},
      {"OpenSSL, fetch digest and cipher", {examples + "openssl_fetch"}},
      {"OpenSSL, parse a certificate", {examples + "x509_parse"}},
      {"std::shared_mutex map, reads only", {examples + "shared_map"}},
      {"std::shared_mutex map, 1 write in 1000", {examples + "shared_map", "--writes-per", "1000"}},
      {"std::shared_mutex map, 1 write in 4", {examples + "shared_map", "--writes-per", "4"}},
  };
}

}  // namespace

int main(int argc, char** argv) {
  bench::seconds_option seconds;
  bench::threads_option threads({1, 2, 8});
  const auto measure = [&](const auto& run, bench::effort chosen, bench::figures& found) {
    // A program that starts slowly still needs some time to run at its speed.
    const std::chrono::duration<double> time =
        seconds.point(chosen, std::chrono::milliseconds(500));
    for (const program& one : all_programs()) {
      for (const unsigned count : threads.counts(chosen)) {
        std::vector<std::string> words = one.words;
        for (const std::string& word :
             {std::string("--threads"), fmt::to_string(count), std::string("--seconds"),
              fmt::to_string(std::max(time.count(), 0.05))}) {
          words.push_back(word);
        }
        found.point(one.title, count, "more", "operations per second",
                    run(words, {}, time).number_above_0("([0-9]+) operations per second"));
      }
    }
  };
  return bench::compare_locks_under(
      {"real_programs", "Real programs over each lock: operations per second by threads.", measure,
       [&](CLI::App& app) {
         seconds.add_to(app);
         threads.add_to(app);
       }},
      argc, argv);
}
