// SPDX-License-Identifier: Apache-2.0
// Makes a failing schedule easier to read: fewer switches, fewer old values, fewer steps.
#pragma once

#include "engine/explore.hpp"

namespace readmost::model {

// Runs a schedule, and starts again whenever a location turns out to be shared.
execution::ending run_schedule(execution& run, const execution::body& scenario,
                               const std::vector<choice>& schedule, bool recorded = false);

// Returns a schedule that fails in the same way.
std::vector<choice> shrink(execution& run, const execution::body& scenario, const finding& found);

}  // namespace readmost::model
