// The part of the report that is about single locks.
#pragma once

#include "../report_text.hpp"
#include "../statistics.hpp"

namespace readmost::interpose {

void add_locks_to_table(report_text& t, const lock_survey& survey) noexcept;

// ,"hottest":[...],"others":{...}
void add_locks_to_json(report_text& t, const lock_survey& survey) noexcept;

}  // namespace readmost::interpose
