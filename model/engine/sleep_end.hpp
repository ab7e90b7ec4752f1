// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace readmost::model {

// How a futex_wait ends; `none`: it did not sleep. The seam's wake_reason, here and in simulation/.
enum class sleep_end { woken, timed_out, none };

}  // namespace readmost::model
