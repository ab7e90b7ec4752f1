// SPDX-License-Identifier: Apache-2.0
// `readmost-model speed`: how fast the checker is.
#pragma once

namespace readmost::model {

int measure_speed();

}  // namespace readmost::model
