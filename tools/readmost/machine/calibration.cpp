// SPDX-License-Identifier: Apache-2.0
#include "machine/calibration.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <functional>
#include <numbers>
#include <numeric>
#include <optional>
#include <random>
#include <string_view>
#include <utility>

#include "failure.hpp"
#include "machine/instruction_cost.hpp"
#include "machine/single_instructions.hpp"
#include "machine/synchronization_costs.hpp"

namespace readmost::command {
namespace {

// The name of the processor. Arm's kernel has no such line.
std::string processor(const kernel_facts& kernel) {
  std::ifstream facts("/proc/cpuinfo");
  for (std::string line; std::getline(facts, line);) {
    const std::size_t value = line.find(": ");
    if (line.starts_with("model name") && value != std::string::npos) return line.substr(value + 2);
  }
  return kernel.architecture;
}

double median_of(std::vector<double> values) {
  const std::optional<spread> all = spread_of(std::move(values));
  return all ? all->median : 0;
}

// --- Instructions -------------------------------------------------------------------------------

// Nanoseconds of a cycle: of an addition that needs the result of the one before. Newer processors
// add constants for nothing, so what is added is none. Between the rounds the sum may be in memory,
// so a round is long.
double cycle(const effort& much) {
  constexpr int rounds = 16;
  constexpr int additions = 64;
  std::uint64_t sum_so_far = 0;
  std::uint64_t one = 1;
  asm volatile("" : "+r"(one));
  const spread cost = cost_of(much, [&sum_so_far, one] {
    std::uint64_t sum = sum_so_far;
    for (int round = 0; round < rounds; ++round) {
#pragma GCC unroll 64
      for (int i = 0; i < additions; ++i) {
        sum += one;
        asm volatile("" : "+r"(sum));
      }
    }
    sum_so_far = sum;
  });
  return cost.median / (rounds * additions);
}

// Nanoseconds of an instruction that is no atomic, among others that need none of its result.
double cost_of_mixed_instruction(const effort& much) {
  return cost_of(much, mixed).median / mixed_instructions;
}

double cost_of_load(const effort& much) {
  return cost_of_instruction(much, load).median;
}

// Beside a load: the core stores while it does other things.
double cost_of_load_and_store(const effort& much) {
  return cost_of_instruction(much, [] { load(), store(); }).median;
}

double cost_of_change(const effort& much) {
  return cost_of_instruction(much, change).median;
}

double cost_of_load_and_change(const effort& much) {
  return cost_of_instruction(much, [] { tested_load_of_changed(), change(); }).median;
}

// As between the atomics of a lock and of its unlock.
double cost_of_change_store_change(const effort& much) {
  return cost_of_instruction(much, [] { change(), store(), change(); }).median;
}

double cost_of_store_to_many(const effort& much) {
  static std::array<word, 8> lines;
  const spread cost = cost_of(much, [&] {
#pragma GCC unroll 8
    for (word& each : lines) {
      each.value.store(1, std::memory_order_relaxed);
      platform::light_fence();
    }
  });
  return cost.median / static_cast<double>(lines.size());
}

// --- Memory -------------------------------------------------------------------------------------

// So far apart that no neighbour is fetched along with it.
struct alignas(4 * platform::cache_line) link {
  link* next = nullptr;
};

// Puts a line out of all caches; false where a program cannot.
bool evict([[maybe_unused]] const link* line) {
#if defined(__x86_64__)
  __builtin_ia32_clflush(line);
  return true;
#elif defined(__aarch64__)
  asm volatile("dc civac, %0" : : "r"(line) : "memory");
  return true;
#else
  return false;
#endif
}

struct memory_latency {
  double cost;
  const char* how;
};

// Follows pointers through lines in random order.
memory_latency cost_of_memory(const effort& much) {
  link probe;
  const bool can_evict = evict(&probe);
  // Few lines, so that no other cost comes in; or else more than most caches hold.
  const std::size_t count = can_evict ? 2'048 : 262'144;
  std::vector<link> links(count);
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  for (std::size_t i = 0; i < count; ++i) links[order[i]].next = &links[order[(i + 1) % count]];
  std::vector<double> samples;
  const link* at = links.data();
  for (int i = 0; i < much.samples; ++i) {
    if (can_evict) {
      for (const link& each : links) evict(&each);
      platform::full_fence();
    }
    constexpr std::size_t steps = 2'048;
    const std::uint64_t start = platform::now();
    for (std::size_t step = 0; step < steps; ++step) {
      at = at->next;
      asm volatile("" : "+r"(at));
    }
    samples.push_back(static_cast<double>(platform::now() - start) / steps);
  }
  return {median_of(samples), can_evict ? "pointers through lines that were put out of the caches"
                                        : "pointers through 64 MiB in random order"};
}

// --- Transfers ----------------------------------------------------------------------------------

// Up to three pairs at this distance, from CPUs that are far from one another.
std::vector<std::pair<int, int>> pairs_at(const cpu_topology& topology, cpu_distance distance) {
  const auto& places = topology.places;
  std::vector<std::pair<int, int>> pairs;
  for (const std::size_t first : {std::size_t{0}, places.size() / 3, places.size() * 2 / 3}) {
    std::vector<int> partners;
    for (const cpu_topology::place& each : places) {
      if (each.cpu != places[first].cpu && distance_between(places[first], each) == distance) {
        partners.push_back(each.cpu);
      }
    }
    if (partners.empty()) continue;
    const std::pair pair(places[first].cpu, partners[partners.size() / 2]);
    if (std::ranges::find(pairs, pair) == pairs.end()) pairs.push_back(pair);
  }
  return pairs;
}

// Two threads, one of them the caller, that change a line in turn by compare-and-swap.
class ping_pong {
 public:
  ping_pong(int cpu, int other)
      : here_(cpu), there_({other}, [this](const std::stop_token& stop) {
          while (!stop.stop_requested()) throw_ball(1, 0);
        }) {}

  // Whether each is kept on its CPU.
  bool pinned() const { return here_ && there_.pinned(); }

  void there_and_back() {
    while (!throw_ball(0, 1)) {
    }
  }

  std::vector<clockid_t> clocks() { return there_.clocks(); }

 private:
  bool throw_ball(std::uint32_t from, std::uint32_t to) {
    return ball_.value.compare_exchange_strong(from, to);
  }

  word ball_;
  const stay_on here_;
  company there_;
};

// One way of the line. Nothing if the threads cannot be kept on these CPUs.
std::optional<double> cost_of_handing_over(int cpu, int other, const effort& much) {
  ping_pong threads(cpu, other);
  if (!threads.pinned()) return std::nullopt;
  return cost_of(much, [&] { threads.there_and_back(); }, threads.clocks()).median / 2;
}

// By which share such ways differ from one another. Nothing in the same case.
std::optional<double> spread_of_handing_over(int cpu, int other, double own_change,
                                             const effort& much) {
  constexpr std::size_t rounds_of_sample = 1'000;
  ping_pong threads(cpu, other);
  if (!threads.pinned()) return std::nullopt;
  const std::size_t count = static_cast<std::size_t>(much.samples) * rounds_of_sample;
  std::vector<double> rounds;
  for (std::uint64_t last = 0; rounds.size() < count;) {
    threads.there_and_back();
    const std::uint64_t now = platform::now();
    if (last != 0) rounds.push_back(static_cast<double>(now - last));
    last = now;
  }
  // Half of the distance between the quartiles of a sum of two ways, each of which differs by as
  // much as w either way and as likely by the one as by the other, is 0.586 w.
  std::ranges::sort(rounds);
  const auto at = [&](double share) {
    return rounds[static_cast<std::size_t>(share * static_cast<double>(rounds.size()))];
  };
  constexpr double of_one_way = 2 - std::numbers::sqrt2;
  const double way = at(0.5) / 2 - own_change;
  return way <= 0 ? 0 : (at(0.75) - at(0.25)) / 2 / of_one_way / way;
}

struct contention {
  double changes = 1;   // of a CPU, one after another, before the line leaves it
  double transfer = 1;  // nanoseconds from one CPU's first change to the other's
};

// Two CPUs change a line by read-modify-writes as often as they can. Nothing if they cannot be kept
// on these CPUs, or never do it at once.
std::optional<contention> measure_contention(int cpu, int other, const effort& much) {
  word sum;
  const stay_on here(cpu);
  company there({other}, [&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (int i = 0; i < 100; ++i) sum.value.fetch_add(1);
    }
  });
  if (!here || !there.pinned()) return std::nullopt;
  std::vector<double> changes;
  std::vector<double> transfers;
  for (int i = 0; i < much.samples; ++i) {
    constexpr int count = 20'000;
    const std::uint64_t start = platform::now();
    const std::uint32_t first = sum.value.fetch_add(1);
    std::uint32_t last = first;
    double turns = 1;
    for (int n = 0; n < count; ++n) {
      const std::uint32_t before = sum.value.fetch_add(1);
      if (before != last + 1) ++turns;
      last = before;
    }
    const auto took = static_cast<double>(platform::now() - start);
    if (turns < count / 1'000) continue;  // the other did not run
    // Between two turns of this CPU is one of the other.
    changes.push_back(static_cast<double>(last - first) / (2 * turns));
    transfers.push_back(took / (2 * turns));
  }
  if (changes.empty()) return std::nullopt;
  return contention{median_of(changes), median_of(transfers)};
}

// What such an instruction takes on one CPU while another executes nothing else. Nothing if threads
// cannot be kept there.
std::optional<double> cost_of_mixed_instruction_beside(int cpu, int other, const effort& much) {
  const stay_on here(cpu);
  company there({other}, [](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      for (int i = 0; i < 100; ++i) mixed();
    }
  });
  if (!here || !there.pinned()) return std::nullopt;
  return cost_of(much, mixed, there.clocks()).median / mixed_instructions;
}

std::optional<double> cost_at(const cpu_topology& topology, cpu_distance distance,
                              const effort& much) {
  std::vector<double> costs;
  for (const auto& [cpu, other] : pairs_at(topology, distance)) {
    if (const auto cost = cost_of_handing_over(cpu, other, much)) costs.push_back(*cost);
  }
  if (costs.empty()) return std::nullopt;
  return median_of(costs);
}

// --- Interrupts ---------------------------------------------------------------------------------

struct interruption {
  double call;  // a membarrier
  double gap;   // what it takes from a thread that runs
};

// Of membarriers while a thread runs on each of the other CPUs. Nothing if the threads cannot be
// kept there or do not notice.
std::optional<interruption> measure_interruption(int cpu, const std::vector<int>& others,
                                                 const effort& much) {
  std::vector<double> calls;
  std::vector<double> gaps;  // that the first of the others sees in the time
  double usual_gap = 0;
  {
    const stay_on here(cpu);
    company there(others, [&](const std::stop_token& stop) {
      constexpr std::size_t most = 100'000;
      constexpr std::size_t usual_ones = 1'000;
      const bool is_first = cpus_of_this_thread().front() == others.front();
      std::vector<double> usual;
      std::vector<double> unusual;
      double least = 0;
      for (std::uint64_t last = platform::now(); !stop.stop_requested();) {
        const std::uint64_t time = platform::now();
        const auto gap = static_cast<double>(time - last);
        last = time;
        if (usual.size() < usual_ones) {
          usual.push_back(gap);
          if (usual.size() == usual_ones) {
            least = 4 * median_of(usual);
            last = platform::now();
          }
        } else if (gap > least && unusual.size() < most) {
          unusual.push_back(gap);
        }
      }
      if (!is_first) return;
      gaps = std::move(unusual);
      usual_gap = least / 4;
    });
    if (!here || !there.pinned()) return std::nullopt;
    for (int i = 0; i < 10 * much.samples; ++i) {
      const std::uint64_t start = platform::now();
      platform::heavy_fence();
      const std::uint64_t end = platform::now();
      calls.push_back(static_cast<double>(end - start));
      while (platform::now() < end + 5'000) platform::relax();
    }
  }
  if (gaps.size() < calls.size() / 4) return std::nullopt;
  // While other work had their CPU the others were not interrupted: those calls were quick.
  std::ranges::sort(calls, std::greater());
  calls.resize(std::min(calls.size(), gaps.size()));
  return interruption{median_of(calls), median_of(gaps) - usual_gap};
}

// --- Sleeping and switching ----------------------------------------------------------------------

struct sleep_costs {
  double wake = 0;                // the call that wakes a sleeping thread
  std::optional<double> latency;  // from its beginning until the thread runs
};

// With the sleeping thread on the second CPU, if there is one. `soon`: that CPU has been idle for
// some microseconds only.
sleep_costs measure_sleep(const std::vector<int>& cpus, bool soon, const effort& much) {
  word bell;
  std::atomic<std::uint64_t> ran_at{0};
  const stay_on here(cpus.front());
  const company there({cpus[cpus.size() > 1 ? 1 : 0]}, [&](const std::stop_token& stop) {
    const std::stop_callback on_stop(stop, [&] {
      bell.value.fetch_add(1);
      platform::futex_wake(platform::futex_of(bell.value), 1, ~0U);
    });
    std::uint32_t heard = 0;
    while (!stop.stop_requested()) {
      platform::futex_wait(platform::futex_of(bell.value), heard, ~0U, nullptr);
      const std::uint64_t time = platform::now();
      const std::uint32_t now = bell.value.load();
      if (now != heard) ran_at.store(time);
      heard = now;
    }
  });
  std::vector<double> calls;
  std::vector<double> latencies;
  for (int i = 0; i < 3 * much.samples; ++i) {
    // The other falls asleep again.
    if (soon) {
      for (const std::uint64_t end = platform::now() + 5'000; platform::now() < end;) {
        platform::relax();
      }
    } else {
      platform::sleep_for(100'000);
    }
    ran_at.store(0);
    bell.value.fetch_add(1);
    const std::uint64_t start = platform::now();
    const bool slept = platform::futex_wake(platform::futex_of(bell.value), 1, ~0U) == 1;
    const std::uint64_t end = platform::now();
    std::uint64_t time = 0;
    while ((time = ran_at.load()) == 0) sched_yield();
    if (!slept) continue;
    calls.push_back(static_cast<double>(end - start));
    latencies.push_back(time > start ? static_cast<double>(time - start) : 0);
  }
  sleep_costs costs{median_of(calls), std::nullopt};
  if (cpus.size() > 1 && !latencies.empty()) costs.latency = median_of(latencies);
  return costs;
}

// CPU time, which leaves out what other processes take.
double time_of_this_process() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_nsec);
}

double switches_of_this_thread() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<double>(usage.ru_nvcsw + usage.ru_nivcsw);
}

// Where other work shares the CPU, each switch may wait for it; a few samples then have to do.
class patience {
 public:
  explicit patience(const effort& much)
      : left_(much.samples),
        end_(platform::now() + static_cast<std::uint64_t>(much.samples) * 10'000'000) {}

  // Whether to take another sample.
  bool has_more() {
    const bool is_first = !std::exchange(begun_, true);
    return left_-- > 0 && (is_first || platform::now() < end_);
  }

 private:
  int left_;
  std::uint64_t end_;
  bool begun_ = false;
};

// Of a switch between two threads that give their CPU up to each other. Nothing if they do not.
std::optional<double> cost_of_switch(int cpu, double system_call, const effort& much) {
  std::atomic<std::uint64_t> others{0};
  const stay_on here(cpu);
  const company there({cpu}, [&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      sched_yield();
      others.fetch_add(1, std::memory_order_relaxed);
    }
  });
  std::vector<double> samples;
  for (patience left(much); left.has_more();) {
    constexpr int calls = 50;
    const std::uint64_t others_before = others.load();
    const double switches_before = switches_of_this_thread();
    const double start = time_of_this_process();
    for (int call = 0; call < calls; ++call) sched_yield();
    const double took = time_of_this_process() - start;
    // Each of this thread's is followed by one of the other's.
    const double switches = 2 * (switches_of_this_thread() - switches_before);
    const double all_calls = calls + static_cast<double>(others.load() - others_before);
    if (switches < calls / 2.0) continue;
    samples.push_back((took - all_calls * system_call) / switches);
  }
  if (samples.empty()) return std::nullopt;
  return std::max(median_of(samples), 0.0);
}

// Woken threads then do not take the CPU from the waker.
class without_preemption {
 public:
  without_preemption() : policy_(sched_getscheduler(0)) {
    const sched_param none{};
    sched_getparam(0, &priority_);
    sched_setscheduler(0, SCHED_BATCH, &none);
  }
  ~without_preemption() { sched_setscheduler(0, policy_, &priority_); }
  without_preemption(const without_preemption&) = delete;
  without_preemption& operator=(const without_preemption&) = delete;

 private:
  int policy_;
  sched_param priority_{};
};

struct handover_costs {
  double whole = 0;  // one thread wakes the other and falls asleep
  double wake = 0;   // the part of that is the call that wakes
};

// Of two threads on one CPU that wake each other in turn.
handover_costs measure_handover(int cpu, const effort& much) {
  word turn;
  const stay_on here(cpu);
  const without_preemption meanwhile;
  const company there({cpu}, [&](const std::stop_token& stop) {
    const std::stop_callback on_stop(stop, [&] {
      turn.value.store(2);
      platform::futex_wake(platform::futex_of(turn.value), 1, ~0U);
    });
    while (!stop.stop_requested()) {
      platform::futex_wait(platform::futex_of(turn.value), 0, ~0U, nullptr);
      std::uint32_t other = 1;
      if (!turn.value.compare_exchange_strong(other, 0)) continue;
      platform::futex_wake(platform::futex_of(turn.value), 1, ~0U);
    }
  });
  std::vector<double> rounds;
  std::vector<double> wakes;
  for (patience left(much); left.has_more();) {
    constexpr int count = 20;
    const double start = time_of_this_process();
    for (int round = 0; round < count; ++round) {
      turn.value.store(1);
      const std::uint64_t before = platform::now();
      platform::futex_wake(platform::futex_of(turn.value), 1, ~0U);
      wakes.push_back(static_cast<double>(platform::now() - before));
      while (turn.value.load() == 1) {
        platform::futex_wait(platform::futex_of(turn.value), 1, ~0U, nullptr);
      }
    }
    rounds.push_back((time_of_this_process() - start) / count);
  }
  return {median_of(rounds) / 2, median_of(wakes)};
}

// How long two busy threads run at a stretch that share a CPU. Nothing if they never changed.
std::optional<double> measure_slice(int cpu, int slices) {
  const stay_on here(cpu);
  const company there({cpu}, [](const std::stop_token& stop) {
    while (!stop.stop_requested()) platform::relax();
  });
  constexpr std::uint64_t away = 500'000;
  const std::uint64_t deadline =
      platform::now() + static_cast<std::uint64_t>(slices + 2) * 12'000'000;
  std::vector<double> stretches;
  std::uint64_t last = platform::now();
  std::uint64_t since = 0;  // the first stretch began before this
  while (stretches.size() < static_cast<std::size_t>(slices) && last < deadline) {
    const std::uint64_t time = platform::now();
    if (time - last > away) {
      if (since != 0) stretches.push_back(static_cast<double>(last - since));
      since = time;
    }
    last = time;
  }
  if (stretches.empty()) return std::nullopt;
  return median_of(stretches);
}

// --- The whole ----------------------------------------------------------------------------------

class calibrator {
 public:
  calibrator(const machine_facts& machine, const effort& much, const std::function<void()>& done)
      : machine_(machine), much_(much), done_(done) {
    made_.order = machine.kernel.architecture == "x86_64" ? "tso" : "arm";
    made_.topology = topology_of(machine.cpus.usable);
    processor_ = processor(machine.kernel);
    made_.description = fmt::format("{}, {} CPU{}, {} {}", processor_, machine.cpus.usable.size(),
                                    machine.cpus.usable.size() == 1 ? "" : "s",
                                    machine.kernel.system, machine.kernel.release);
  }

  calibration result() {
    topology();
    nanoseconds_per_cycle_ = cycle(much_);
    add("ghz", std::round(1000 / nanoseconds_per_cycle_) / 1000, true, "additions in a chain");
    done_();
    caches();
    instructions();
    interrupts();
    kernel();
    return std::move(made_);
  }

 private:
  void topology() {
    const cpu_topology& topology = made_.topology;
    const std::size_t usable = machine_.cpus.usable.size();
    if (topology.size_of_regular_machine() > most_simulated_cpus) {
      throw failure(
          "this machine has {} CPUs in its regular form; a machine file has at most {}; keep to "
          "some of them with 'taskset -c LIST readmost doctor --calibrate FILE'",
          topology.size_of_regular_machine(), most_simulated_cpus);
    }
    std::string& source = made_.topology_source;
    if (!topology.known) {
      source = fmt::format(
          "estimated: /sys/devices/system/cpu does not tell how the {} usable CPUs lie; a core of "
          "one socket each",
          usable);
      return;
    }
    source = measured_source("/sys/devices/system/cpu, of the usable CPUs");
    if (topology.size_of_regular_machine() != usable) {
      source += fmt::format("; these are {}, and the form is that of a regular machine with {}",
                            usable, topology.size_of_regular_machine());
    }
  }

  void caches() {
    const double load = cost_of_load(much_);
    measured("latency.hit", load, "a load among many");
    measured("latency.store", cost_of_load_and_store(much_) - load,
             "what a store to an own line adds to a load");
    own_change_ = cost_of_change(much_);
    measured("latency.complete", cost_of_load_and_change(much_) - own_change_,
             "what a load of the same word with a test and a branch adds to a read-modify-write");
    measured("latency.commit", cost_of_change_store_change(much_) - 2 * own_change_,
             "what a store between two read-modify-writes adds");
    const double instruction = cost_of_mixed_instruction(much_);
    measured("instruction", instruction,
             "one among a load, three additions, a test and a branch in turn");
    instructions_beside(instruction);
    done_();

    double least = load;
    std::string nearer;  // the last distance that was measured
    const bool one_cpu = machine_.cpus.usable.size() == 1;
    // What other machines have, in nanoseconds.
    const std::array<double, 4> usual{2, 40, 40, 120};
    std::size_t index = 0;
    for (const cpu_distance distance : cpu_distances) {
      const std::string name = fmt::format("latency.{}", name_of(distance));
      const std::optional<double> one_way = cost_at(made_.topology, distance, much_);
      done_();
      if (one_way) {
        const double transfer = *one_way - own_change_;
        measured(name, std::max(transfer, least),
                 transfer < least && !nearer.empty()
                     ? fmt::format("hardly more than the instruction; not less than {}", nearer)
                     : "one way of a ping-pong by compare-and-swap, less the instruction itself");
        least = std::max(transfer, least);
        nearer = name_of(distance);
      } else if (!nearer.empty()) {
        estimated(name, least,
                  fmt::format("no two CPUs of this process are so far; as {}", nearer));
      } else {
        const double guess = std::max(usual[index], least);
        estimated(name, guess,
                  one_cpu ? "this process has one CPU; what other machines have"
                          : "no two CPUs of this process are so near, or they cannot be chosen; "
                            "what other machines have");
        // A farther distance may be measured yet, and must not be less.
        guessed_.push_back(made_.figures.size() - 1);
      }
      if (one_way) lower_guesses(std::max(*one_way - own_change_, load));
      ++index;
    }
    transfer_ = nearer.empty() ? usual[1] : least;

    const std::vector<int>& cpus = machine_.cpus.usable;
    std::optional<contention> both;
    if (cpus.size() > 1) both = measure_contention(cpus[0], cpus[1], much_);
    if (both) {
      // The line is asked for at any moment of the last change, which is completed.
      const double kept = (both->changes - 0.5) * own_change_ / both->transfer;
      add("kept", std::clamp(std::round(100 * kept) / 100, 0.0, 1.0), true,
          fmt::format("two CPUs that change a line as often as they can: {:.2f} changes in {:.1f} "
                      "ns, before the other has it",
                      both->changes, both->transfer));
    } else {
      add("kept", 0.5, false,
          cpus.size() == 1 ? "half; this process has one CPU"
                           : "half; threads cannot be kept on their CPUs");
    }
    std::optional<double> spread;
    if (cpus.size() > 1) {
      spread = spread_of_handing_over(cpus[0], cpus[1], own_change_, much_);
    }
    add("spread", spread ? std::clamp(std::round(100 * *spread) / 100, 0.0, 0.5) : 0.1,
        spread.has_value(),
        spread ? "between the quartiles of the ping-pong's rounds"
               : "what a Xeon (Granite Rapids) has");
    done_();

    const memory_latency memory = cost_of_memory(much_);
    measured("latency.memory", memory.cost, memory.how);
    done_();
    add("latency.share_more", made_.topology.sockets > 1 ? 2 : 0, false,
        made_.topology.sockets > 1 ? "invalidations go out at once, and the answers are counted"
                                   : "there is one socket");
  }

  void instructions_beside(double alone) {
    const std::vector<int>& cpus = machine_.cpus.usable;
    if (cpus.size() < 2) return;
    const auto of_one_core = pairs_at(made_.topology, cpu_distance::same_core);
    const auto [cpu, other] =
        of_one_core.empty() ? std::pair(cpus[0], cpus[1]) : of_one_core.front();
    const std::optional<double> beside = cost_of_mixed_instruction_beside(cpu, other, much_);
    if (!beside) return;
    measured("instruction_beside", std::max(*beside, alone),
             of_one_core.empty()
                 ? "the same while another CPU does so, which according to the system has a core "
                   "of its own"
                 : "the same while the other CPU of the core does so");
  }

  // Guesses of nearer distances must not exceed the first that is measured.
  void lower_guesses(double nanoseconds) {
    const double most = rounded(nanoseconds / nanoseconds_per_cycle_);
    for (const std::size_t guess : guessed_) {
      made_.figures[guess].value = std::min(made_.figures[guess].value, most);
    }
    guessed_.clear();
  }

  void instructions() {
    add("window", 60, false,
        "cores of the last ten years have 192 to 512 instructions in flight and begin four to six "
        "a cycle");
    measured("atomic", own_change_ - cost_of_load(much_),
             "a read-modify-write on an own line, less a load");
    measured("fence", cost_of_instruction(much_, [] { platform::full_fence(); }).median,
             "a full fence among many");
    done_();
    if (made_.order == "arm") {
      add("acquire", 1, false, "LDAPR and LDAR cost little beyond a load");
      add("release", 6, false, "STLR leaves the store buffer some cycles after the one before");
    }
    add("store_buffer.entries", 56, false,
        "cores of the last ten years have between 42 and 112; no plain measurement tells");
    add("fill_buffers", 10, false,
        "cores of the last ten years have between 10 and 24; what loops show of it depends on the "
        "rest of the core");
    measured("store_buffer.drain", cost_of_store_to_many(much_),
             "a store among many to eight own lines in turn");
    done_();
    measured("relax", cost_of_instruction(much_, [] { platform::relax(); }).median,
             "the pause of Readmost's loops");
    clock_ = cost_of_instruction(much_, [] { platform::now(); }).median;
    measured("clock", clock_, "clock_gettime(CLOCK_MONOTONIC)");
    system_call_ = cost_of_instruction(much_, [] { syscall(SYS_getppid); }).median;
    done_();
  }

  void interrupts() {
    const std::vector<int>& cpus = machine_.cpus.usable;
    const bool has_membarrier =
        machine_.membarrier.offers_private() && platform::enable_heavy_fence();
    std::optional<interruption> one;
    std::optional<interruption> all;
    if (has_membarrier && cpus.size() > 1) one = measure_interruption(cpus[0], {cpus[1]}, much_);
    if (one && machine_.cpus.at_once() > 2) {
      const auto end = cpus.begin() + static_cast<std::ptrdiff_t>(machine_.cpus.at_once());
      all = measure_interruption(cpus[0], {cpus.begin() + 1, end}, much_);
    }
    const double alone = has_membarrier ? cost_of_fence_beside_sleeper(much_).median : system_call_;
    done_();

    double send = 100 * nanoseconds_per_cycle_;
    if (all) {
      const auto further = static_cast<double>(machine_.cpus.at_once() - 2);
      send = std::max(all->call - one->call, 0.0) / further;
      measured("interrupt.send", send, "what each further CPU adds to a membarrier");
    } else {
      estimated("interrupt.send", send,
                "a write to the interrupt controller; it takes three CPUs to measure");
    }
    if (one) {
      const double whole = std::max(one->call - clock_ - alone, 0.0);
      const double handle = std::min(one->gap, whole);
      measured("interrupt.take", whole - handle - send,
               "a membarrier to one running thread, less one beside a sleeping thread, sending and "
               "handling");
      measured("interrupt.handle", handle,
               "the gap that a thread sees in the time when another calls membarrier");
    } else {
      const std::string why = fmt::format(
          "{}; 1,316 cycles from core to core in FCP's Table 2, of which 100 to send and 400 to "
          "handle",
          !has_membarrier    ? "no membarrier here"
          : cpus.size() == 1 ? "this process has one CPU"
                             : "a thread on another CPU did not notice membarriers");
      estimated("interrupt.take", 816 * nanoseconds_per_cycle_, why);
      estimated("interrupt.handle", 400 * nanoseconds_per_cycle_, why);
    }
    measured("system_call", system_call_, "getppid(2)");
    if (has_membarrier) {
      measured("membarrier.base", alone - system_call_,
               "a membarrier beside a sleeping thread, less a system call");
    } else {
      estimated("membarrier.base", 300 * nanoseconds_per_cycle_,
                "no membarrier here; two fences, and reading what each CPU runs");
    }
  }

  void kernel() {
    const std::vector<int>& cpus = machine_.cpus.usable;
    const std::optional<double> switching = cost_of_switch(cpus.front(), system_call_, much_);
    const double to_switch = switching.value_or(1'000);
    done_();
    const handover_costs handover = measure_handover(cpus.front(), much_);
    done_();
    const sleep_costs sleep = measure_sleep(cpus, false, much_);
    done_();
    const sleep_costs nap =
        cpus.size() > 1 ? measure_sleep(cpus, true, much_) : sleep_costs{0, std::nullopt};
    done_();
    measured(
        "futex.wait", handover.whole - (handover.wake - clock_) - system_call_ - to_switch,
        "two threads on a CPU that wake each other in turn, less the call that wakes, a system "
        "call and a switch");
    measured("futex.wake", beyond_call(sleep.wake),
             cpus.size() > 1 ? "the call that wakes a thread on another CPU, less a system call"
                             : "the call that wakes a thread on the same CPU, less a system call");
    if (sleep.latency) {
      measured("futex.wake_up_latency", beyond_call(*sleep.latency),
               "from the call that wakes until the thread runs on another CPU, idle for 100 us, "
               "less a system call");
    } else {
      estimated("futex.wake_up_latency", 2'000,
                "2 us; this process has one CPU, or no thread was found asleep");
    }
    // Where these are missing a simulated machine takes those above.
    if (nap.latency) {
      measured("futex.wake_soon", beyond_call(nap.wake),
               "as futex.wake, of a CPU that has been idle for some 5 us");
      measured("futex.wake_up_latency_soon", beyond_call(*nap.latency),
               "as futex.wake_up_latency, of a CPU that has been idle for some 5 us");
    }
    measured("futex.wake_busy", beyond_call(handover.wake),
             "the call that wakes a thread of the caller's own CPU, less a system call");
    if (switching) {
      measured("scheduler.switch", *switching,
               "two threads on a CPU that call sched_yield(2), less the system calls");
    } else {
      estimated("scheduler.switch", to_switch, "1 us; threads that yield were not switched");
    }
    const std::optional<double> slice = measure_slice(cpus.front(), much_.samples > 20 ? 24 : 5);
    done_();
    if (slice) {
      measured("scheduler.slice", *slice, "a stretch of one of two busy threads on a CPU");
    } else {
      estimated("scheduler.slice", 3'000'000, "3 ms; two busy threads on a CPU did not change");
    }
    estimated("scheduler.migrate", 50 * transfer_,
              "some 200 lines come from the farthest CPU's cache, four at a time");
  }

  // --- Figures

  static double rounded(double cycles) {
    const double exact = std::max(cycles, 0.0);
    return exact < 100 ? std::round(exact * 100) / 100 : std::round(exact);
  }

  std::string measured_source(const std::string& how) const {
    return fmt::format("measured by readmost doctor --calibrate, {}: {}", processor_, how);
  }

  void add(const std::string& name, double value, bool is_measured, const std::string& how) {
    made_.figures.push_back(
        {name, value, is_measured, is_measured ? measured_source(how) : "estimated: " + how});
  }
  // Differences below 0 count as 0.
  // What a timed call takes beyond a system call. At least a cycle, whatever the noise of the two:
  // for some figures 0 says that they are missing.
  double beyond_call(double timed) const {
    return std::max(timed - clock_ - system_call_, nanoseconds_per_cycle_);
  }
  void measured(const std::string& name, double nanoseconds, const std::string& how) {
    add(name, rounded(nanoseconds / nanoseconds_per_cycle_), true, how);
  }
  void estimated(const std::string& name, double nanoseconds, const std::string& how) {
    add(name, rounded(nanoseconds / nanoseconds_per_cycle_), false, how);
  }

  const machine_facts& machine_;
  const effort much_;
  const std::function<void()>& done_;
  std::string processor_;
  calibration made_;
  double nanoseconds_per_cycle_ = 1;
  double own_change_ = 0;  // nanoseconds of a read-modify-write on an own line
  double transfer_ = 0;    // of the farthest
  double system_call_ = 0;
  double clock_ = 0;                  // of a reading
  std::vector<std::size_t> guessed_;  // figures of distances before the first that was measured
};

}  // namespace

calibration calibrate(const machine_facts& machine, const effort& much,
                      const std::function<void()>& done) {
  return calibrator(machine, much, done).result();
}

}  // namespace readmost::command
