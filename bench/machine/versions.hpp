// SPDX-License-Identifier: Apache-2.0
// The time until readers see a new version.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace bench {

struct staleness_of_memory {
  std::size_t reads = 0;
  std::vector<double> stale_ns;  // the age of the value, for each read of an old value
};

// One CPU writes a location, another reads it at random times around the write, in so many rounds
// or for so long. Empty where there is one CPU only.
staleness_of_memory measure_memory(unsigned rounds, std::chrono::nanoseconds most);

// Raises the version of the default domain so many times, or for so long, and returns after how
// many nanoseconds each reader reported it; no value after 1 ms. Readers run sections of RCU of
// that length, with pauses of that length between them, and ran just before the version was raised.
std::vector<std::optional<double>> measure_versions(unsigned readers,
                                                    std::chrono::nanoseconds section,
                                                    std::chrono::nanoseconds rest, unsigned times,
                                                    std::chrono::nanoseconds most);

}  // namespace bench
