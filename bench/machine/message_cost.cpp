// SPDX-License-Identifier: Apache-2.0
// The cost of a message to threads, by several means (FCP Table 2 and section 3.1).
#include <algorithm>
#include <cmath>
#include <readmost/detail/platform/platform.hpp>
#include <stdexcept>

#include "harness/benchmark.hpp"
#include "machine/costs.hpp"
#include "machine/receivers.hpp"

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr const char* description =
    "The time until all of some threads have received a message, by number of threads: "
    "membarrier(2), which interrupts each other CPU that runs a thread of the process (the paper's "
    "IPI, FCP Table 2); a signal to each, whose handler answers; a futex wake of sleeping "
    "threads, which answer; a store to a cache line that each of them polls, and answers on one of "
    "its own. Up to one less than CPUs, but at least 1: the sender needs one itself. A message "
    "counts only if all receivers ran just before it. Medians, in nanoseconds and in clock cycles, "
    "and the standard deviation of the quickest 99%: the others were interrupted.";

// Measures send(), which returns when all receivers have the message. Between two messages
// receivers go on with their work.
template <class Receivers, class Send>
void measure_sending(unsigned threads, bench::effort chosen, bench::figures& found,
                     Receivers& receivers, Send send) {
  constexpr std::size_t fewest = 20;
  std::vector<double> times;
  for (int i = 0; i < 3; ++i) send();
  const auto begun = clock::now();
  const auto over = begun + chosen.time(500ms);
  const auto too_late = begun + 10 * chosen.time(500ms);
  for (;;) {
    const auto rested = clock::now() + 2us;
    receivers.all_running();
    while (clock::now() < rested) {
    }
    const bool running = receivers.all_running();
    const auto begin = clock::now();
    // Measures nevertheless if the receivers never all run.
    if (!running && begin < too_late) {
      std::this_thread::yield();
      continue;
    }
    send();
    const auto end = clock::now();
    times.push_back(std::chrono::duration<double, std::nano>(end - begin).count());
    if ((end > over && times.size() >= fewest) || times.size() == 100'000) break;
  }
  std::sort(times.begin(), times.end());
  const double median = times[times.size() / 2];
  times.resize(std::max<std::size_t>(times.size() * 99 / 100, 1));
  double mean = 0;
  for (const double one : times) mean += one / static_cast<double>(times.size());
  double variance = 0;
  for (const double one : times) {
    variance += (one - mean) * (one - mean) / static_cast<double>(times.size());
  }
  const double cycle = bench::cost_of_cycle({chosen.times(101)});
  found.point("Cost of a message", threads, "less", "ns", median);
  found.point("Cost of a message in clock cycles", threads, "neither", "cycles", median / cycle);
  found.point("Cost of a message, standard deviation", threads, "neither", "ns",
              std::sqrt(variance));
}

// Numbers of receivers, from `least` to as many as can run: all of them up to 4, then powers of
// two.
std::vector<unsigned> steps(unsigned least) {
  const unsigned most = std::max(readmost::detail::platform::usable_cpus(), 2U) - 1;
  std::vector<unsigned> found;
  for (unsigned i = least; i < most; i = i < 4 ? i + 1 : 2 * i) found.push_back(i);
  found.push_back(most);
  return found;
}

void membarrier(bench::effort chosen, bench::figures& found) {
  if (!readmost::detail::platform::enable_heavy_fence()) {
    throw std::runtime_error("membarrier(2) is needed and may not be used here");
  }
  for (const unsigned threads : steps(0)) {
    bench::running_threads running(threads);
    measure_sending(threads, chosen, found, running, [] {
      if (!readmost::detail::platform::heavy_fence())
        throw std::runtime_error("membarrier(2) failed");
    });
  }
}

template <class Receivers>
void answered(bench::effort chosen, bench::figures& found) {
  for (const unsigned threads : steps(1)) {
    Receivers receivers(threads);
    measure_sending(threads, chosen, found, receivers, [&] { receivers.send(); });
  }
}

struct means {
  const char* name;
  void (*measure)(bench::effort, bench::figures&);
};

const bench::registration here("message_cost", [] {
  const std::vector<means> all{{"membarrier", membarrier},
                               {"signal", answered<bench::signalled_threads>},
                               {"futex-wake", answered<bench::sleeping_threads>},
                               {"cache-line", answered<bench::polling_threads>}};
  return bench::benchmark_of(description, all, [](const means& by, auto chosen, auto& found) {
    by.measure(chosen, found);
  });
});

}  // namespace
