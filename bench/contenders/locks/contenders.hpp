// SPDX-License-Identifier: Apache-2.0
// The reader-writer locks that the benchmarks compare, behind the interfaces of contender.hpp.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "contenders/locks/contender.hpp"
#include "harness/benchmark.hpp"

namespace bench {

using contender_list = std::vector<std::unique_ptr<contender>>;

// All locks, Readmost's first, under their names in READMOST_LOCK if they have one there.
contender_list all_contenders();

// There is one with that name.
const contender& contender_named(const contender_list& all, const std::string& name);

// The cost of the loops without a lock. For one thread.
std::unique_ptr<contender> make_no_lock();

// The parts of all_contenders(). Each is compiled in a file of its own.
void add_system_locks(contender_list& to);
void add_library_locks(contender_list& to);
void add_rival_locks(contender_list& to);
void add_bravo_locks(contender_list& to);

// Readmost's lock and the C library's under their other preferences. Only benchmarks in which
// threads wait for long compare these.
void add_preferring_locks(contender_list& to);

// all_contenders(), and those.
contender_list all_with_preferences();

// A benchmark of all locks: measure(lock, options, effort, figures) measures a turn of one.
template <class Options = no_options, class Measure>
benchmark benchmark_of_locks(std::string description, Measure measure) {
  return benchmark_of<Options>(std::move(description), all_contenders(), measure);
}

}  // namespace bench
