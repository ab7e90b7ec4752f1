// Two numbers that are always equal to whoever holds the lock.
#pragma once

#include <readmost/shared_mutex.hpp>

struct table {
  readmost::shared_mutex guard;
  long left = 0;
  long right = 0;
};

// Reads so many times; whether the two were equal each time.
bool reads_agree(table& shared, int times);
