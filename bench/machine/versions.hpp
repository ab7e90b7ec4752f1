// How long a new version stays unseen.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <vector>

namespace bench {

struct staleness_of_memory {
  std::size_t reads = 0;
  std::vector<double> stale_ns;  // of reads that found the old value: how old it was
};

// A location that one CPU writes and another reads at random times around that, so many times or
// for so long. Nothing where there is one CPU only.
staleness_of_memory measure_memory(unsigned rounds, std::chrono::nanoseconds most);

// Raises the version of the default domain so many times, or for so long, and tells after how many
// nanoseconds each of the readers has reported it; nothing if it takes longer than 1 ms. Readers
// are in sections of RCU of that length, with rests of that length between them, and have just been
// seen to run.
std::vector<std::optional<double>> measure_versions(unsigned readers,
                                                    std::chrono::nanoseconds section,
                                                    std::chrono::nanoseconds rest, unsigned times,
                                                    std::chrono::nanoseconds most);

}  // namespace bench
