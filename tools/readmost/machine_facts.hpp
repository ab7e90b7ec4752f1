#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace readmost::command {

struct cpu_facts {
  std::vector<int> usable;  // those we may run on
  unsigned online = 0;
  std::optional<double> quota;  // CPUs' worth of time that the control group grants
  unsigned numa_nodes = 0;      // of the usable CPUs; 0 when the kernel does not tell

  // How many threads can really run at once.
  std::size_t at_once() const;
};

// How the kernel, or a sandbox before it, answers membarrier(2). Errors are errno values, 0 for
// none.
struct membarrier_answers {
  bool killed = false;  // a filter kills the process that asks
  int query_error = 0;
  unsigned long commands = 0;  // what MEMBARRIER_CMD_QUERY lists
  int private_error = 0;       // of registering for the private expedited command, and using it
  int rseq_error = 0;          // the same for its restartable-sequence variant

  bool offers_private() const;
  bool offers_rseq() const;
};

struct machine_facts {
  std::string system;   // the kernel's name
  std::string release;  // its version
  std::string architecture;
  cpu_facts cpus;
  membarrier_answers membarrier;
  std::optional<int> seccomp_mode;  // as /proc/self/status has it: 0 none, 1 strict, 2 filter
  std::string container;            // what looks as in one; empty when nothing does
  unsigned rseq_registered = 0;     // bytes that the C library has registered
  unsigned long rseq_offered = 0;   // bytes that the kernel fills in; 0 before Linux 6.3
  bool procmap_query = false;       // Linux 6.11: asks about one mapping without reading them all
  std::optional<int> ptrace_scope;  // nothing without the Yama module
  std::optional<double> load;       // of the last minute, before anything was measured

  bool kernel_is_at_least(int major, int minor) const;
};

// Precondition: the process has one thread, because a child is forked to ask what might kill it.
machine_facts facts_of_this_machine();

// CPUs alone, without the fork.
cpu_facts cpus_of_this_process();

// Those that the calling thread may run on.
std::vector<int> cpus_of_this_thread();

// The closest thing that two CPUs share, in words; empty when the kernel does not tell.
std::string nearness(int cpu, int other);

nlohmann::ordered_json as_json(const machine_facts& machine);

}  // namespace readmost::command
