// SPDX-License-Identifier: Apache-2.0
#include "machine/facts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#include "failure.hpp"

namespace readmost::command {
namespace {

namespace fs = std::filesystem;

// Empty for a file that cannot be read.
std::string first_line(const fs::path& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::optional<double> first_number(const fs::path& file) {
  std::ifstream in(file);
  double number = 0;
  return in >> number ? std::optional(number) : std::nullopt;
}

// The kernel's form, as in 0-3,8.
std::set<int> cpu_list(const std::string& text) {
  std::set<int> cpus;
  std::istringstream ranges(text);
  for (std::string range; std::getline(ranges, range, ',');) {
    int first = 0;
    int last = 0;
    const int read = std::sscanf(range.c_str(), "%d-%d", &first, &last);
    for (int cpu = first; read >= 1 && cpu <= (read == 2 ? last : first); ++cpu) cpus.insert(cpu);
  }
  return cpus;
}

// --- CPUs ---------------------------------------------------------------------------------------

fs::path folder_of(int cpu) {
  return fmt::format("/sys/devices/system/cpu/cpu{}", cpu);
}

// The node of a CPU is a link in its folder.
std::string node_of(int cpu) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(cpu), error)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("node")) return name;
  }
  return "";
}

std::optional<double> quota_of(const fs::path& group) {
  // Version 2: "max 100000" or "150000 100000".
  std::ifstream version_2(group / "cpu.max");
  double quota = 0;
  double period = 0;
  if (version_2 >> quota >> period && quota > 0 && period > 0) return quota / period;
  const std::optional<double> version_1 = first_number(group / "cpu.cfs_quota_us");
  const std::optional<double> each = first_number(group / "cpu.cfs_period_us");
  if (version_1 && each && *version_1 > 0 && *each > 0) return *version_1 / *each;
  return std::nullopt;
}

// The least quota of the control group and those that contain it. Lines of /proc/self/cgroup are
// "0::/path" in version 2 and "4:cpu,cpuacct:/path" in version 1; in a container the path may be
// the host's, of which only the end, or nothing, can be seen here.
std::optional<double> cpu_quota() {
  std::optional<double> least;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::vector<fs::path> mounts;
    if (controllers.empty()) {
      mounts = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      mounts = {fs::path("/sys/fs/cgroup") / controllers, "/sys/fs/cgroup/cpu"};
    }
    for (const fs::path& mount : mounts) {
      fs::path inner = fs::path(line.substr(second + 1)).relative_path();
      for (;; inner = inner.parent_path()) {
        const std::optional<double> quota = quota_of(mount / inner);
        if (quota && (!least || *quota < *least)) least = quota;
        if (inner.empty()) break;
      }
    }
  }
  return least;
}

// --- membarrier ---------------------------------------------------------------------------------

int error_of_membarrier(int command) {
  return syscall(SYS_membarrier, command, 0, 0) < 0 ? errno : 0;
}

void ask_membarrier(membarrier_answers& answers) {
  const long commands = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  if (commands < 0) {
    answers.query_error = errno;
    return;
  }
  answers.commands = static_cast<unsigned long>(commands);
  answers.private_error = error_of_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
  if (answers.private_error == 0) {
    answers.private_error = error_of_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
  }
  answers.rseq_error = error_of_membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_RSEQ);
  if (answers.rseq_error == 0) {
    answers.rseq_error = error_of_membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ);
  }
}

// Asks in a child process, because a strict seccomp filter kills the caller.
membarrier_answers membarrier_of_a_child() {
  void* page = mmap(nullptr, sizeof(membarrier_answers), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const bool mapped = page != MAP_FAILED;
  auto* answers = mapped ? new (page) membarrier_answers : nullptr;
  const pid_t child = mapped ? fork() : -1;
  if (child < 0) {
    throw failure(
        "cannot start a process that asks for membarrier: {}; raise the limit of processes "
        "(ulimit -u) or of memory (ulimit -v)",
        std::generic_category().message(errno));
  }
  if (child == 0) {
    const rlimit no_core_file{0, 0};
    setrlimit(RLIMIT_CORE, &no_core_file);
    ask_membarrier(*answers);
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  membarrier_answers result = *answers;
  result.killed = WIFSIGNALED(status);
  munmap(page, sizeof(membarrier_answers));
  return result;
}

// --- The rest -----------------------------------------------------------------------------------

std::optional<int> seccomp_mode() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    int mode = 0;
    if (std::sscanf(line.c_str(), "Seccomp: %d", &mode) == 1) return mode;
  }
  return std::nullopt;
}

std::string container() {
  std::error_code error;
  for (const char* mark : {"/.dockerenv", "/run/.containerenv"}) {
    if (fs::exists(mark, error)) return mark;
  }
  if (std::getenv("KUBERNETES_SERVICE_HOST") != nullptr) return "KUBERNETES_SERVICE_HOST";
  return first_line("/run/systemd/container");
}

unsigned registered_rseq() {
#if __has_include(<sys/rseq.h>)
  return __rseq_size;
#else
  return 0;
#endif
}

unsigned long offered_rseq() {
#ifdef AT_RSEQ_FEATURE_SIZE
  return getauxval(AT_RSEQ_FEATURE_SIZE);
#else
  return 0;
#endif
}

// Sends a query of size 0: a kernel that knows the call answers EINVAL, an older one ENOTTY.
bool has_procmap_query() {
  std::array<std::uint64_t, 13> query{};
  const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (maps < 0) return false;
  // The raw call: musl's ioctl() takes the request as an int.
  const long result = syscall(SYS_ioctl, maps, _IOWR('f', 17, decltype(query)), query.data());
  const bool known = result < 0 && errno == EINVAL;
  close(maps);
  return known;
}

std::optional<double> load_average() {
  double average = 0;
  return getloadavg(&average, 1) == 1 ? std::optional(average) : std::nullopt;
}

std::optional<int> ptrace_scope() {
  const std::optional<double> scope = first_number("/proc/sys/kernel/yama/ptrace_scope");
  return scope ? std::optional(static_cast<int>(*scope)) : std::nullopt;
}

}  // namespace

std::size_t cpu_facts::at_once() const {
  const std::size_t most = std::max<std::size_t>(usable.size(), 1);
  if (!quota) return most;
  // Under any quota two threads run at once until it is used up.
  const std::size_t least = std::min<std::size_t>(most, 2);
  return std::clamp(static_cast<std::size_t>(std::ceil(*quota)), least, most);
}

bool membarrier_answers::offers_private() const {
  return !killed && query_error == 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 &&
         private_error == 0;
}

bool membarrier_answers::offers_rseq() const {
  return !killed && query_error == 0 && (commands & MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ) != 0 &&
         rseq_error == 0;
}

bool kernel_facts::is_at_least(int major, int minor) const {
  int own_major = 0;
  int own_minor = 0;
  if (std::sscanf(release.c_str(), "%d.%d", &own_major, &own_minor) != 2) return false;
  return own_major > major || (own_major == major && own_minor >= minor);
}

std::vector<int> cpus_of_this_thread() {
  std::array<cpu_set_t, 8> sets{};  // 8192 CPUs, as many as Linux can have
  std::vector<int> cpus;
  if (sched_getaffinity(0, sizeof sets, sets.data()) != 0) return {0};
  for (std::size_t cpu = 0; cpu < sizeof sets * 8; ++cpu) {
    if (CPU_ISSET_S(cpu, sizeof sets, sets.data())) cpus.push_back(static_cast<int>(cpu));
  }
  return cpus;
}

cpu_facts cpus_of_this_process() {
  cpu_facts cpus;
  cpus.usable = cpus_of_this_thread();
  cpus.online = static_cast<unsigned>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 1L));
  cpus.quota = cpu_quota();
  std::set<std::string> nodes;
  for (const int cpu : cpus.usable) nodes.insert(node_of(cpu));
  nodes.erase("");
  cpus.numa_nodes = static_cast<unsigned>(nodes.size());
  return cpus;
}

kernel_facts kernel_of_this_machine() {
  utsname names{};
  if (uname(&names) != 0) return {};
  return {names.sysname, names.release, names.machine};
}

machine_facts facts_of_this_machine() {
  machine_facts machine;
  machine.kernel = kernel_of_this_machine();
  machine.cpus = cpus_of_this_process();
  machine.membarrier = membarrier_of_a_child();
  machine.seccomp_mode = seccomp_mode();
  machine.container = container();
  machine.rseq_registered = registered_rseq();
  machine.rseq_offered = offered_rseq();
  machine.procmap_query = has_procmap_query();
  machine.ptrace_scope = ptrace_scope();
  machine.load = load_average();
  const std::optional<cpu_times> times = times_of(machine.cpus.usable);
  if (times && times->busy.count() > 0) machine.taken = times->taken / times->busy;
  return machine;
}

std::optional<cpu_times> times_of(const std::vector<int>& cpus, const std::string& file) {
  std::ifstream statistics(file);
  double busy = 0;
  double taken = 0;
  bool found = false;
  for (std::string line; std::getline(statistics, line);) {
    int cpu = 0;
    double user = 0, nice = 0, system = 0, idle = 0, waiting = 0, hard = 0, soft = 0, stolen = 0;
    if (std::sscanf(line.c_str(), "cpu%d %lf %lf %lf %lf %lf %lf %lf %lf", &cpu, &user, &nice,
                    &system, &idle, &waiting, &hard, &soft, &stolen) < 8 ||
        std::ranges::find(cpus, cpu) == cpus.end()) {
      continue;
    }
    busy += user + nice + system + hard + soft + stolen;
    taken += stolen;
    found = true;
  }
  if (!found) return std::nullopt;
  const std::chrono::duration<double> tick{1.0 / static_cast<double>(sysconf(_SC_CLK_TCK))};
  return cpu_times{busy * tick, taken * tick};
}

std::string nearness(int cpu, int other) {
  const auto lists = [&](const char* file) {
    return cpu_list(first_line(folder_of(cpu) / file)).contains(other);
  };
  if (lists("topology/thread_siblings_list")) return "same core";
  if (lists("cache/index3/shared_cpu_list")) return "same L3 cache";
  const std::string node = node_of(cpu);
  if (node.empty()) return "";
  return node == node_of(other) ? "same NUMA node" : "other NUMA node";
}

}  // namespace readmost::command
