// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace readmost::command {

// On stdout. Throws failure when nobody can read it.
void print(const std::string& text);

}  // namespace readmost::command
