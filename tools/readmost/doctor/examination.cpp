#include "doctor/examination.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <optional>
#include <system_error>

#include "lock/bias.hpp"

namespace readmost::command {
namespace {

constexpr double nanoseconds_per_second = 1e9;

std::string nanoseconds(double value) {
  return value >= 10'000 ? fmt::format("{:.0f} us", value / 1000)
         : value >= 1000 ? fmt::format("{:.1f} us", value / 1000)
         : value >= 20   ? fmt::format("{:.0f} ns", value)
                         : fmt::format("{:.1f} ns", value);
}

// Two digits, as much as the figures behind it deserve.
std::string about(double count) {
  const double unit = std::pow(10, std::floor(std::log10(std::max(count, 1.0))) - 1);
  const double rounded = std::round(count / unit) * unit;
  if (rounded >= 1e9) return fmt::format("{:.4g} thousand million", rounded / 1e9);
  if (rounded >= 1e6) return fmt::format("{:.4g} million", rounded / 1e6);
  return rounded >= 1e4 ? fmt::format("{:.4g} thousand", rounded / 1000)
                        : fmt::format("{:.0f}", rounded);
}

// --- Obstacles ----------------------------------------------------------------------------------

constexpr const char* how_to_admit =
    "Admit it: Docker's and Podman's own profiles do (Docker since 20.10; an older one needs "
    "--security-opt seccomp=PROFILE with membarrier on its list), and so does systemd unless "
    "SystemCallFilter= takes it away.";

std::optional<finding> membarrier_obstacle(const machine_facts& machine) {
  const membarrier_answers& answers = machine.membarrier;
  if (answers.offers_private()) return std::nullopt;
  if (answers.killed) {
    return finding{
        true, fmt::format("A seccomp filter kills whoever calls membarrier(2), and would kill a "
                          "program when its first lock has earned passive readers. Until then "
                          "start programs with READMOST_LOCK=pthread. {}",
                          how_to_admit)};
  }
  constexpr const char* consequence = "no reader can be passive and nothing is gained.";
  const bool kernel_has_it = machine.kernel.is_at_least(4, 14);
  const bool filtered = machine.seccomp_mode.value_or(0) != 0;
  const int error = answers.query_error != 0 ? answers.query_error : answers.private_error;
  const std::string said = error == 0 ? "not offered" : std::generic_category().message(error);
  if (!kernel_has_it) {
    return finding{true,
                   fmt::format("{} {} has no private expedited membarrier(2) ({}): {} It "
                               "takes Linux 4.14.",
                               machine.kernel.system, machine.kernel.release, said, consequence)};
  }
  if (!filtered && (error == 0 || error == ENOSYS)) {
    return finding{true, fmt::format("This kernel has no private expedited membarrier(2) ({}), "
                                     "although it is new enough: {} It takes one that is built "
                                     "with CONFIG_MEMBARRIER=y; sandboxes with a kernel of their "
                                     "own, as gVisor, may lack it.",
                                     said, consequence)};
  }
  return finding{true, fmt::format("membarrier(2) is refused ({}){}: {} {}", said,
                                   filtered ? ", and a seccomp filter is in force" : "",
                                   consequence, how_to_admit)};
}

std::optional<finding> library_obstacle(const examination& all) {
  if (!all.library_problem.empty()) {
    return finding{true,
                   "Programs cannot be run with Readmost's locks: " + all.library_problem + "."};
  }
  const pthread_costs& preloaded = all.preloaded;
  if (!preloaded.problem.empty()) {
    return finding{true, fmt::format("With '{}' preloaded this command did not work: {}. Build "
                                     "the library for this system, or set READMOST_LIBRARY to one "
                                     "that is.",
                                     all.library, preloaded.problem)};
  }
  if (preloaded.costs && preloaded.is_libc) {
    return finding{true, fmt::format("'{}' is preloaded but replaces no lock: pthread_rwlock_* is "
                                     "still that of {}. Set READMOST_LIBRARY to the path of "
                                     "libreadmost-pthread.so.",
                                     all.library, preloaded.provider)};
  }
  return std::nullopt;
}

// --- What the figures say -----------------------------------------------------------------------

// Half of the CPUs at work leaves too few for the pairs of threads that are measured.
bool is_busy(const machine_facts& machine) {
  return machine.load && *machine.load > machine.cpus.online / 2.0;
}

const lock_costs* ours(const examination& all) {
  if (all.preloaded.costs) return &*all.preloaded.costs;
  return all.costs.readmost ? &*all.costs.readmost : nullptr;
}

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
    findings.push_back(
        {false, fmt::format("A read lock and its unlock cost {} with glibc, against {}.{}",
                            nanoseconds(alone(glibc)), both(all, alone),
                            saved_alone <= 0
                                ? " Nothing is gained."
                                : fmt::format(" A thread that takes {} read locks a second gets 1% "
                                              "of its CPU back.",
                                              per_second(saved_alone)))});
    return;
  }
  const auto together = [](const lock_costs& costs) {
    return costs.read_together.back().read.median;
  };
  const double saved = together(glibc) - together(*own);
  findings.push_back({false, fmt::format("While {} threads read one lock, a read lock and its "
                                         "unlock cost {} with glibc, whose lock then travels from "
                                         "CPU to CPU, against {}.",
                                         glibc.read_together.back().threads,
                                         nanoseconds(together(glibc)), both(all, together))});
  if (saved <= 0) {
    findings.push_back({false, is_busy(all.machine)
                                   ? "The other load hides what that gains; try again when the "
                                     "machine is quiet."
                                   : "Here that gains nothing."});
    return;
  }
  const std::string alone_too =
      saved_alone <= 0 ? ""
                       : fmt::format(
                             " A lock that only one thread reads takes {} a second for "
                             "that.",
                             per_second(saved_alone));
  findings.push_back({false, fmt::format("A thread that takes {} read locks a second on a lock "
                                         "that others read too gets 1% of its CPU back; with a "
                                         "tenth of that nobody will notice a difference.{}",
                                         per_second(saved), alone_too)});
}

void tell_writes(const examination& all, std::vector<finding>& findings) {
  if (all.costs.membarriers.empty()) return;
  const synchronization_costs::fence_of_all& dearest = *std::ranges::max_element(
      all.costs.membarriers, {}, [](const auto& some) { return some.cost.median; });
  const double membarrier = dearest.cost.median;
  const std::string others =
      dearest.running == 0
          ? ""
          : fmt::format(" while {} other thread{} run{}", dearest.running,
                        dearest.running == 1 ? "" : "s", dearest.running == 1 ? "s" : "");
  // A writer asks the kernel when the readers have had as long to answer.
  const double at_worst = std::max<double>(2 * membarrier, detail::bias::least_cost);
  const auto reads_per_write = [](double cost) {
    return about(
        static_cast<double>(detail::bias::cost_of_revocation(static_cast<std::uint64_t>(cost))) /
        detail::bias::saved_among_others);
  };
  const std::string worst = reads_per_write(at_worst);
  const std::string least = reads_per_write(detail::bias::least_cost);
  findings.push_back(
      {false,
       fmt::format("A write lock on a lock with passive readers waits until it has heard from "
                   "them: at worst about {}, when they do not answer in time and a membarrier "
                   "({}{}) has to ask. A lock that several threads read is then worth its passive "
                   "readers from about {} reads per write on{}; below that it is an ordinary lock.",
                   nanoseconds(at_worst), nanoseconds(membarrier), others, worst,
                   worst == least ? "" : fmt::format(", and from {} where they answer", least))});
}

void tell_distance(const examination& all, std::vector<finding>& findings) {
  const auto& transfers = all.costs.transfers;
  if (transfers.size() < 2) return;
  const synchronization_costs::transfer& near = transfers.front();
  const synchronization_costs::transfer& far = transfers.back();
  const double times = far.cost.median / near.cost.median;
  if (times < 2) return;
  findings.push_back({false, fmt::format("A cache line takes {:.1f} times as long between CPUs {} "
                                         "and {} as between {} and {}: locks whose readers sit "
                                         "that far apart gain most.",
                                         times, far.cpu, far.other, near.cpu, near.other)});
}

void tell_cpus(const cpu_facts& cpus, std::vector<finding>& findings) {
  if (cpus.usable.size() == 1) {
    findings.push_back({false,
                        "This process may use 1 CPU: little to gain, for a lock that never leaves "
                        "its CPU costs only its own instructions. See taskset -p, or the control "
                        "group's cpuset."});
  } else if (cpus.quota && *cpus.quota < static_cast<double>(cpus.usable.size())) {
    findings.push_back(
        {false, fmt::format("The control group grants the time of {:.3g} of {} CPUs (cpu.max): "
                            "when it is used up the threads are stopped, perhaps while they hold "
                            "a lock. No kind of lock helps against that.",
                            *cpus.quota, cpus.usable.size())});
  }
}

void tell_load(const machine_facts& machine, std::vector<finding>& findings) {
  if (!is_busy(machine)) return;
  findings.push_back(
      {false, fmt::format("The load average was {:.1f} on {} CPUs before this: other "
                          "work shared the CPUs with the measurements, and the "
                          "figures say less than those of a quiet machine.",
                          *machine.load, machine.cpus.online)});
}

void tell_the_rest(const examination& all, std::vector<finding>& findings) {
  if (all.costs.wake) {
    findings.push_back({false, fmt::format("A thread that slept for a lock runs {} after it is "
                                           "woken; no kind of lock can shorten that.",
                                           nanoseconds(all.costs.wake->median))});
  }
  if (!all.machine.procmap_query && all.machine.membarrier.offers_private()) {
    findings.push_back({false,
                        "Linux before 6.11: a preloaded lock reads /proc/self/maps once before it "
                        "has passive readers, which takes up to 100 us in a large program."});
  }
  const int scope = all.machine.ptrace_scope.value_or(0);
  if (scope != 0) {
    findings.push_back(
        {false, scope == 3 ? std::string("kernel.yama.ptrace_scope is 3: `readmost top` cannot "
                                         "look into any process until a reboot.")
                           : fmt::format("kernel.yama.ptrace_scope is {}: `readmost top` needs "
                                         "root (CAP_SYS_PTRACE), or sysctl "
                                         "kernel.yama.ptrace_scope=0.",
                                         scope)});
  }
  if (all.glibc.costs && !all.glibc.is_libc) {
    findings.push_back({false, fmt::format("The figures under glibc are those of {}, which "
                                           "replaces its lock here; see LD_PRELOAD.",
                                           all.glibc.provider)});
  }
}

}  // namespace

std::vector<finding> meaning_of(const examination& all) {
  std::vector<finding> findings;
  if (const auto obstacle = membarrier_obstacle(all.machine)) findings.push_back(*obstacle);
  if (const auto obstacle = library_obstacle(all)) findings.push_back(*obstacle);
  tell_load(all.machine, findings);
  tell_cpus(all.machine.cpus, findings);
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
