// SPDX-License-Identifier: Apache-2.0
// Plain data, and the data races in it.
#include <cstring>

#include "engine/address_table.hpp"
#include "engine/execution.hpp"

namespace readmost::model {

execution::plain& execution::find_plain(const void* address) {
  plain& found = look_up(plain_table_, plains_, reinterpret_cast<std::uintptr_t>(address));
  if (found.run != run_) [[unlikely]] {
    found = {.address = found.address, .run = run_};
  }
  return found;
}

std::uint64_t& execution::plain_value(const void* address, std::uint32_t size) {
  plain& data = find_plain(address);
  if (data.fresh) {
    data.fresh = false;
    std::memcpy(&data.value, address, size);
  }
  return data.value;
}

void execution::fail_as_race(const void* address, const char* mine, unsigned other,
                             const char* others, std::source_location at) {
  fail(violation_kind::data_race,
       describe(address) + " is " + mine + " by " + running_->name + " while " +
           threads_[other].name + " " + others + " it",
       at);
}

void execution::read_plain(const void* address, std::source_location at) {
  if (!concurrent_) return;
  plain& data = find_plain(address);
  const view& now = *running_->now;
  if (data.written > now.clock[data.writer]) {
    fail_as_race(address, "read", data.writer, "writes", at);
  }
  data.read[running_->number] = now.clock[running_->number];
}

void execution::write_plain(const void* address, std::source_location at) {
  if (!concurrent_) return;
  plain& data = find_plain(address);
  const view& now = *running_->now;
  if (data.written > now.clock[data.writer]) {
    fail_as_race(address, "written", data.writer, "writes", at);
  }
  for (unsigned i = 1; i < thread_count_; ++i) {
    if (data.read[i] > now.clock[i]) fail_as_race(address, "written", i, "reads", at);
  }
  data.writer = static_cast<std::uint8_t>(running_->number);
  data.written = now.clock[running_->number];
}

}  // namespace readmost::model
