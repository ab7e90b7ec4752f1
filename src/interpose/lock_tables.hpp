// The part of the statistics report on single locks.
#pragma once

#include "platform/text.hpp"
#include "statistics/statistics.hpp"

namespace readmost::detail::interpose {

void add_locks_to_table(text_buffer& t, const lock_survey& survey) noexcept;

// ,"hottest":[...],"others":{...}
void add_locks_to_json(text_buffer& t, const lock_survey& survey) noexcept;

}  // namespace readmost::detail::interpose
