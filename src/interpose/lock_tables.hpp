// SPDX-License-Identifier: Apache-2.0
// The part of the statistics report on single locks.
#pragma once

#include "platform/text.hpp"
#include "statistics/statistics.hpp"

namespace readmost::detail::interpose {

// `nanoseconds`: how long the process has been running.
void add_locks_to_table(text_buffer& t, const lock_survey& survey,
                        std::uint64_t nanoseconds) noexcept;

// ,"hottest":[...],"others":{...}
void add_locks_to_json(text_buffer& t, const lock_survey& survey,
                       std::uint64_t nanoseconds) noexcept;

}  // namespace readmost::detail::interpose
