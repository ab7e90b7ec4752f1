// SPDX-License-Identifier: Apache-2.0
// Two numbers that are equal whenever a thread that holds the lock looks at them.
#pragma once

#include <readmost/shared_mutex.hpp>

struct table {
  readmost::shared_mutex guard;
  long left = 0;
  long right = 0;
};

// Reads `times` times; returns whether the two numbers were equal each time.
bool reads_agree(table& shared, int times);
