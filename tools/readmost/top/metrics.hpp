// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "open_metrics.hpp"
#include "top/sample.hpp"

namespace readmost::command {

// All counts since the process started, of at most a hundred locks one by one: those with most
// reads and writes.
process_metrics metrics_of(top_target& target, const top_sample& sample);

}  // namespace readmost::command
