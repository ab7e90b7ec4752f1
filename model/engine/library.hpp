// SPDX-License-Identifier: Apache-2.0
// The library's internal names, for the whole checker: it looks inside what it checks.
#pragma once

namespace readmost::detail {}

namespace readmost::model {
using namespace readmost::detail;
}
