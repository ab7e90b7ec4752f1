// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace readmost::command {

struct cpu_facts {
  std::vector<int> usable;  // those in the affinity mask
  unsigned online = 0;
  std::optional<double> quota;  // CPUs' worth of time that the control group grants
  unsigned numa_nodes = 0;      // of the usable CPUs; 0 when unknown

  // How many threads can really run at once.
  std::size_t at_once() const;
};

// The answers of the kernel, or of a sandbox, to membarrier(2). Errors are errno values, 0 for
// none.
struct membarrier_answers {
  bool killed = false;  // a seccomp filter kills the caller
  int query_error = 0;
  unsigned long commands = 0;  // the result of MEMBARRIER_CMD_QUERY
  int private_error = 0;       // of registering for the private expedited command, and using it
  int rseq_error = 0;          // the same for its restartable-sequence variant

  bool offers_private() const;
  bool offers_rseq() const;
};

struct kernel_facts {
  std::string system;  // the kernel's name
  std::string release;
  std::string architecture;

  bool is_at_least(int major, int minor) const;
};

struct machine_facts {
  kernel_facts kernel;
  cpu_facts cpus;
  membarrier_answers membarrier;
  std::optional<int> seccomp_mode;  // as /proc/self/status has it: 0 none, 1 strict, 2 filter
  std::string container;            // the sign of a container; empty when there is none
  unsigned rseq_registered = 0;     // bytes registered by the C library
  unsigned long rseq_offered = 0;   // bytes that the kernel fills in; 0 before Linux 6.3
  bool procmap_query = false;       // Linux 6.11: queries one mapping without reading them all
  std::optional<int> ptrace_scope;  // nothing without the Yama module
  std::optional<double> load;       // of the last minute, before anything was measured
  // The part of the usable CPUs' busy time that the hypervisor took, since the machine started.
  std::optional<double> taken;
};

kernel_facts kernel_of_this_machine();

// Precondition: the process has one thread, because this forks.
machine_facts facts_of_this_machine();

// CPUs alone, without the fork.
cpu_facts cpus_of_this_process();

// The CPUs that the calling thread may run on.
std::vector<int> cpus_of_this_thread();

// Since the machine started, in the kernel's ticks of some milliseconds.
struct cpu_times {
  std::chrono::duration<double> busy{};   // includes what was taken
  std::chrono::duration<double> taken{};  // by the hypervisor, from a CPU that had work
};

// The sums of these CPUs' times. Nothing without the kernel's file.
std::optional<cpu_times> times_of(const std::vector<int>& cpus,
                                  const std::string& file = "/proc/stat");

// The closest thing that two CPUs share, in words; empty when unknown.
std::string nearness(int cpu, int other);

}  // namespace readmost::command
