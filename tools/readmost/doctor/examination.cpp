// SPDX-License-Identifier: Apache-2.0
#include "doctor/examination.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <system_error>

#include "lock/bias.hpp"
#include "lock/bias_trial.hpp"

namespace readmost::command {
namespace {

constexpr double nanoseconds_per_second = 1e9;

std::string nanoseconds(double value) {
  return value >= 10'000 ? fmt::format("{:.0f} us", value / 1000)
         : value >= 1000 ? fmt::format("{:.1f} us", value / 1000)
         : value >= 20   ? fmt::format("{:.0f} ns", value)
                         : fmt::format("{:.1f} ns", value);
}

// Two digits; the figures are no more precise.
std::string about(double count) {
  const double unit = std::pow(10, std::floor(std::log10(std::max(count, 1.0))) - 1);
  const double rounded = std::round(count / unit) * unit;
  if (rounded >= 1e9) return fmt::format("{:.4g} thousand million", rounded / 1e9);
  if (rounded >= 1e6) return fmt::format("{:.4g} million", rounded / 1e6);
  return rounded >= 1e4 ? fmt::format("{:.4g} thousand", rounded / 1000)
                        : fmt::format("{:.0f}", rounded);
}

template <class... Values>
finding obstacle(fmt::format_string<Values...> text, Values&&... values) {
  return {true, fmt::format(text, std::forward<Values>(values)...)};
}

template <class... Values>
void tell(std::vector<finding>& findings, fmt::format_string<Values...> text, Values&&... values) {
  findings.push_back({false, fmt::format(text, std::forward<Values>(values)...)});
}

// --- Obstacles, and a missing membarrier ---------------------------------------------------------

constexpr const char* how_to_admit =
    "Admit it: Docker's and Podman's own profiles do (Docker since 20.10; an older one needs "
    "--security-opt seccomp=PROFILE with membarrier on its list), and so does systemd unless "
    "SystemCallFilter= takes it away.";

// For filters that kill: docs/using.md has the same list, and tests/command/system_calls_test.cpp.
constexpr const char* other_calls =
    "The library also calls futex, sched_yield, sched_getaffinity, getpriority, clock_nanosleep "
    "(or nanosleep), mmap, munmap, mincore, getpid, gettid, rt_sigprocmask, and openat, read, "
    "pread64, newfstatat, ioctl and close for files in /proc; with statistics write; with a "
    "profile fallocate; with RCU clone3 (or clone), prctl, sched_setaffinity, sched_setscheduler "
    "and setpriority.";

void tell_membarrier(const machine_facts& machine, std::vector<finding>& findings) {
  const membarrier_answers& answers = machine.membarrier;
  if (answers.offers_private()) return;
  if (answers.killed) {
    findings.push_back(obstacle(
        "A seccomp filter kills every caller of membarrier(2), and would kill a program when its "
        "first lock has earned passive readers. Until then start programs without the "
        "library. {} {}",
        how_to_admit, other_calls));
    return;
  }
  constexpr const char* consequence = "passive readers execute a fence, and so gain less.";
  const bool filtered = machine.seccomp_mode.value_or(0) != 0;
  const int error = answers.query_error != 0 ? answers.query_error : answers.private_error;
  const std::string said = error == 0 ? "not offered" : std::generic_category().message(error);
  if (!machine.kernel.is_at_least(4, 14)) {
    return tell(
        findings,
        "{} {} has no private expedited membarrier(2) ({}): {} It needs Linux 4.14 or newer.",
        machine.kernel.system, machine.kernel.release, said, consequence);
  }
  if (!filtered && (error == 0 || error == ENOSYS)) {
    return tell(
        findings,
        "This kernel has no private expedited membarrier(2) ({}), although it is new enough: {} "
        "Use one that is built with CONFIG_MEMBARRIER=y; sandboxes with a kernel of their own, "
        "such as gVisor, may lack it.",
        said, consequence);
  }
  tell(findings, "membarrier(2) is refused ({}){}: {} {}{}", said,
       filtered ? ", and a seccomp filter is in force" : "", consequence, how_to_admit,
       filtered ? fmt::format(" {}", other_calls) : "");
}

std::optional<finding> library_obstacle(const examination& all) {
  if (!all.library_problem.empty()) {
    return obstacle("Programs cannot be run with Readmost's locks: {}.", all.library_problem);
  }
  const pthread_costs& preloaded = all.preloaded;
  if (!preloaded.problem.empty()) {
    return obstacle(
        "With '{}' preloaded this command failed: {}. Build the library for this system, or set "
        "READMOST_LIBRARY to one that is.",
        all.library, preloaded.problem);
  }
  if (preloaded.costs && preloaded.is_libc) {
    return obstacle(
        "'{}' is preloaded but replaces no lock: pthread_rwlock_* is still that of {}. Set "
        "READMOST_LIBRARY to the path of libreadmost-pthread.so.",
        all.library, preloaded.provider);
  }
  return std::nullopt;
}

// --- Conclusions from the figures ---------------------------------------------------------------

// When half of the CPUs are at work, too few are left for the threads that are measured.
bool is_busy(const machine_facts& machine) {
  return machine.load && *machine.load > machine.cpus.online / 2.0;
}

const lock_costs* ours(const examination& all) {
  if (all.preloaded.costs) return &*all.preloaded.costs;
  return all.costs.readmost ? &*all.costs.readmost : nullptr;
}

// How many operations a second save 1% of a CPU.
std::string per_second(double saved) {
  return about(0.01 * nanoseconds_per_second / saved);
}

std::string both(const examination& all, const auto& figure) {
  std::string text;
  if (all.preloaded.costs) {
    text = fmt::format("{} with the library preloaded", nanoseconds(figure(*all.preloaded.costs)));
  }
  if (all.costs.readmost) {
    text += fmt::format("{}{} with readmost::shared_mutex", text.empty() ? "" : " and ",
                        nanoseconds(figure(*all.costs.readmost)));
  }
  return text;
}

void tell_reads(const examination& all, std::vector<finding>& findings) {
  const lock_costs* own = ours(all);
  if (!all.glibc.costs || own == nullptr) return;
  const lock_costs& glibc = *all.glibc.costs;
  const auto alone = [](const lock_costs& costs) { return costs.read.median; };
  const double saved_alone = alone(glibc) - alone(*own);
  if (glibc.read_together.empty() || own->read_together.empty()) {
    tell(findings, "A read lock and its unlock cost {} with glibc, against {}.{}",
         nanoseconds(alone(glibc)), both(all, alone),
         saved_alone <= 0
             ? " Nothing is gained."
             : fmt::format(" A thread that takes {} read locks a second saves 1% of its CPU.",
                           per_second(saved_alone)));
    return;
  }
  const auto together = [](const lock_costs& costs) {
    return costs.read_together.back().read.median;
  };
  const double saved = together(glibc) - together(*own);
  tell(findings,
       "While {} threads read one lock, a read lock and its unlock cost {} with glibc, whose lock "
       "then travels from CPU to CPU, against {}.",
       glibc.read_together.back().threads, nanoseconds(together(glibc)), both(all, together));
  if (saved <= 0) {
    tell(findings, "{}",
         is_busy(all.machine) ? "Other load hides the gain; repeat this on a quiet machine."
                              : "That gains nothing here.");
    return;
  }
  tell(findings,
       "A thread that takes {} read locks a second on a lock that others read too saves 1% of its "
       "CPU; a tenth of that makes no noticeable difference.{}",
       per_second(saved),
       saved_alone <= 0
           ? ""
           : fmt::format(" On a lock that only this thread reads the same takes {} a second.",
                         per_second(saved_alone)));
}

void tell_writes(const examination& all, std::vector<finding>& findings) {
  if (all.costs.membarriers.empty()) return;
  const auto& dearest = *std::ranges::max_element(
      all.costs.membarriers, {}, [](const auto& some) { return some.cost.median; });
  const double membarrier = dearest.cost.median;
  const std::string others =
      dearest.running == 0
          ? ""
          : fmt::format(" while {} other thread{} run{}", dearest.running,
                        dearest.running == 1 ? "" : "s", dearest.running == 1 ? "s" : "");
  // A writer calls membarrier after the readers have had as long to report.
  const double at_worst = std::max<double>(2 * membarrier, detail::bias::least_cost);
  const auto reads_per_write = [](double cost) {
    return about(
        static_cast<double>(detail::bias::cost_of_revocation(static_cast<std::uint64_t>(cost))) /
        detail::bias::saved_among_others);
  };
  const std::string worst = reads_per_write(at_worst);
  const std::string least = reads_per_write(detail::bias::least_cost);
  tell(findings,
       "A write lock on a lock with passive readers waits for a report from each of them: at worst "
       "about {}, when they do not report in time and a membarrier ({}{}) stands in. A lock that "
       "several threads read is then worth its passive readers from about {} reads per write "
       "on{}; below that it is an ordinary lock.",
       nanoseconds(at_worst), nanoseconds(membarrier), others, worst,
       worst == least ? "" : fmt::format(", and from {} if they report", least));
}

void tell_distance(const examination& all, std::vector<finding>& findings) {
  const auto& transfers = all.costs.transfers;
  if (transfers.size() < 2) return;
  const auto& near = transfers.front();
  const auto& far = transfers.back();
  const double times = far.cost.median / near.cost.median;
  if (times < 2) return;
  tell(findings,
       "A cache line takes {:.1f} times as long between CPUs {} and {} as between {} and {}: locks "
       "whose readers are that far apart gain most.",
       times, far.cpu, far.other, near.cpu, near.other);
}

void tell_cpus(const cpu_facts& cpus, std::vector<finding>& findings) {
  if (cpus.usable.size() == 1) {
    tell(
        findings,
        "This process may use 1 CPU, which leaves little to gain: a lock that never leaves its CPU "
        "costs only its own instructions. See taskset -p, or the control group's cpuset.");
  } else if (cpus.quota && *cpus.quota < static_cast<double>(cpus.usable.size())) {
    tell(findings,
         "The control group grants the time of {:.3g} of {} CPUs (cpu.max): when it is used up the "
         "threads are stopped, perhaps while they hold a lock. No kind of lock helps against that.",
         *cpus.quota, cpus.usable.size());
  }
}

void tell_load(const machine_facts& machine, std::vector<finding>& findings) {
  if (!is_busy(machine)) return;
  tell(findings,
       "The load average was {:.1f} on {} CPUs before this: other work shared the CPUs with the "
       "measurements, so the figures are less reliable than those of a quiet machine.",
       *machine.load, machine.cpus.online);
}

void tell_hypervisor(const machine_facts& machine, std::vector<finding>& findings) {
  // Threads try fenced readers if waits for CPUs that are away take this part of the time.
  constexpr double much = 1.0 / detail::trial::part_that_matters;
  if (machine.taken.value_or(0) < much) return;
  tell(findings,
       "The hypervisor has taken {:.0f}% of the CPUs' busy time since the machine started: a write "
       "lock on a lock with passive readers may have to wait until a CPU is back. Threads that "
       "lose much to such waits let passive readers execute a fence, so that writers need not "
       "wait. Expect less of a gain; `vmstat 1` shows in the column st what is taken now.",
       100 * *machine.taken);
}

void tell_the_rest(const examination& all, std::vector<finding>& findings) {
  if (all.costs.wake) {
    tell(findings,
         "A thread that slept for a lock runs {} after it is woken; no kind of lock can shorten "
         "that.",
         nanoseconds(all.costs.wake->median));
  }
  if (!all.machine.procmap_query && all.machine.membarrier.offers_private()) {
    tell(findings,
         "Linux before 6.11: a preloaded lock reads /proc/self/maps once before it has passive "
         "readers, which takes up to 100 us in a large program.");
  }
  const int scope = all.machine.ptrace_scope.value_or(0);
  if (scope == 3) {
    tell(findings,
         "kernel.yama.ptrace_scope is 3: `readmost top` cannot look into any process until a "
         "reboot.");
  } else if (scope != 0) {
    tell(findings,
         "kernel.yama.ptrace_scope is {}: `readmost top` needs root (CAP_SYS_PTRACE), or sysctl "
         "kernel.yama.ptrace_scope=0.",
         scope);
  }
  if (all.glibc.costs && !all.glibc.is_libc) {
    tell(findings,
         "The figures under glibc are those of {}, which replaces its lock here; see LD_PRELOAD.",
         all.glibc.provider);
  }
}

}  // namespace

std::vector<finding> meaning_of(const examination& all) {
  std::vector<finding> findings;
  tell_membarrier(all.machine, findings);
  if (const auto found = library_obstacle(all)) findings.push_back(*found);
  tell_load(all.machine, findings);
  tell_cpus(all.machine.cpus, findings);
  tell_hypervisor(all.machine, findings);
  if (all.machine.membarrier.offers_private()) {
    tell_reads(all, findings);
    tell_writes(all, findings);
  }
  tell_distance(all, findings);
  tell_the_rest(all, findings);
  return findings;
}

bool is_useful(const std::vector<finding>& findings) {
  return std::ranges::none_of(findings, &finding::obstacle);
}

}  // namespace readmost::command
