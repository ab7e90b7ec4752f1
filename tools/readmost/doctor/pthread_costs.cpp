// SPDX-License-Identifier: Apache-2.0
#include "doctor/pthread_costs.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <pthread.h>

#include <cstdio>
#include <cstring>

#include "machine/facts.hpp"
#include "process/child.hpp"
#include "process/environment.hpp"
#include "process/preload.hpp"
#include "statistics/introspection.hpp"

namespace readmost::command {
namespace {

// Read from the data that the library exports for `readmost top`; empty without the library.
std::string version_of_library() {
  const auto* shown =
      static_cast<const detail::introspection*>(dlsym(RTLD_DEFAULT, detail::introspection::symbol));
  constexpr detail::introspection ours("", nullptr, nullptr, 0);
  return shown != nullptr && shown->has_magic_of(ours) ? shown->version : "";
}

Dl_info where_is(const char* function) {
  Dl_info info{};
  dladdr(dlsym(RTLD_DEFAULT, function), &info);
  return info;
}

}  // namespace

pthread_costs measure_pthread_in_child(const std::string& library,
                                       std::vector<std::string> arguments) {
  environment env;
  remove_library(env);
  if (!library.empty()) prepend_library(env, library);
  env.set("READMOST_LOCK", "prwlock");
  for (const char* other : {"READMOST_PREFER", "READMOST_STATS"}) env.unset(other);

  const child_result run = run_to_end("/proc/self/exe", std::move(arguments), std::move(env),
                                      {std::chrono::seconds(20), 100'000});
  const std::string problem = run.problem();
  if (problem.empty()) {
    // The loader may have printed something before.
    const std::size_t start = run.output.rfind("\n{");
    const auto found =
        pthread_costs_from(start == std::string::npos ? run.output : run.output.substr(start + 1));
    if (found) return *found;
  }
  pthread_costs none;
  none.problem = fmt::format("it {}: {}", problem.empty() ? "printed no result" : problem,
                             run.output.substr(0, run.output.find('\n')));
  return none;
}

void measure_pthread_here(const effort& much) {
  cpu_facts cpus = cpus_of_this_process();
  cpus.usable.resize(cpus.at_once());
  alignas(platform::cache_line) pthread_rwlock_t read = PTHREAD_RWLOCK_INITIALIZER;
  alignas(platform::cache_line) pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER;
  const lock_costs costs = costs_of(
      cpus.usable, much,
      [&] {
        pthread_rwlock_rdlock(&read);
        pthread_rwlock_unlock(&read);
      },
      [&] {
        pthread_rwlock_wrlock(&written);
        pthread_rwlock_unlock(&written);
      });
  const Dl_info lock = where_is("pthread_rwlock_rdlock");
  fmt::print("{}", as_json(pthread_costs{
                       lock.dli_fname == nullptr ? "" : lock.dli_fname,
                       lock.dli_fbase == where_is("getppid").dli_fbase,
                       costs,
                       version_of_library(),
                       "",
                   }));
}

}  // namespace readmost::command
