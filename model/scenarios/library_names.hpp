// SPDX-License-Identifier: Apache-2.0
// Names of the library's own variables and of their values, for reports.
#pragma once

namespace readmost::model {

void name_library_variables();

}  // namespace readmost::model
