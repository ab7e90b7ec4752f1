// The reader-writer locks that the benchmarks compare, behind the interfaces of contender.hpp.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "contender.hpp"

namespace bench {

using contender_list = std::vector<std::unique_ptr<contender>>;

// All of them, ours first; under the names by which READMOST_LOCK knows those that it knows.
contender_list all_contenders();

std::vector<std::string> names_of(const contender_list& all);

// The one with that name; there is one.
const contender& named(const contender_list& all, const std::string& name);

// What the loops cost without a lock. For one thread.
std::unique_ptr<guarded_counter> make_counter_without_lock();

// The parts of the list, in files of their own.
void add_system_locks(contender_list& to);
void add_library_locks(contender_list& to);
void add_rival_locks(contender_list& to);
void add_bravo_locks(contender_list& to);

}  // namespace bench
