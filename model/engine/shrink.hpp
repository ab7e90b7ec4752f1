// Makes a failing schedule easier to read: fewer switches, fewer old values, fewer steps.
#pragma once

#include "engine/explore.hpp"

namespace readmost::model {

// A schedule that fails in the same way. `run` knows what is shared.
std::vector<choice> shrink(execution& run, const execution::body& scenario, const finding& found);

}  // namespace readmost::model
