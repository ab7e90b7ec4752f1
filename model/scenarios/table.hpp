// SPDX-License-Identifier: Apache-2.0
// Scenarios that differ in a parameter only, as a table.
#pragma once

#include <initializer_list>

#include "catalogue.hpp"

namespace readmost::model {

struct scenario_table {
  scenario_table(std::initializer_list<named_scenario> rows) {
    for (const named_scenario& row : rows) const added_to_catalogue added(row);
  }
};

}  // namespace readmost::model
