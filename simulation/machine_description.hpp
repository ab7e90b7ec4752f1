// SPDX-License-Identifier: Apache-2.0
// A machine to simulate: its CPUs, and what its operations cost. Machine files are described in
// docs/scaling.md.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace readmost::simulation {

// Picoseconds.
using duration = std::uint64_t;

// Between two CPUs.
enum class distance : std::uint8_t { same_cpu, same_core, same_cluster, same_socket, other_socket };
inline constexpr unsigned distances = 5;

// In which order a CPU's accesses take effect (docs/scaling.md).
enum class access_order : std::uint8_t { tso, arm };

struct machine_description {
  std::string name;
  std::string description;
  double ghz = 1;
  access_order order = access_order::tso;

  // CPUs are numbered in this nesting.
  unsigned sockets = 1;
  unsigned clusters_per_socket = 1;
  unsigned cores_per_cluster = 1;
  unsigned threads_per_core = 1;

  duration hit = 0;    // a load of a line that the CPU's cache has
  duration store = 0;  // into the store buffer
  // Until a load has what the last atomic left in that word, and until a store is there: atomics
  // and fences wait for both. The latter is 0 if the file does not tell.
  duration complete = 0;
  duration commit = 0;
  // One that is no atomic, among many: 0 if the file does not tell, and then `hit` is that of a
  // load with a test and a branch.
  duration instruction = 0;
  // The same while the other CPU of the core runs a thread: 0 if the file does not tell, and then
  // the core has room for both. What hits, and stores, take longer by as much.
  duration instruction_beside = 0;
  duration transfer[distances] = {};  // of a line from another cache; the first is `hit`
  duration memory = 0;                // no cache has the line
  duration share_more = 0;            // for each further copy that a write invalidates
  // The share of a transfer for which the owner goes on to use the line.
  double kept = 0.5;
  // The share by which a transfer takes longer or shorter, at random; 0 if the file does not tell.
  double spread = 0;
  // How far instructions that are no accesses may run ahead of atomics before them.
  duration window = 0;

  duration atomic = 0;  // read-modify-write, beyond the access
  duration fence = 0;   // beyond the emptying of the store buffer
  // Under the order of Arm, what LDAPR or LDAR and STLR cost beyond a plain load and store.
  duration acquire = 0;
  duration release = 0;
  unsigned buffer_entries = 1;
  unsigned fill_buffers = 1;  // cache misses of a CPU that are served at a time
  duration drain = 0;         // of one entry into a line that the CPU owns
  duration relax = 0;         // a pause instruction
  duration clock = 0;         // reading the time

  duration interrupt_send = 0;    // for each target, to the sender
  duration interrupt_take = 0;    // until it reaches the target
  duration interrupt_handle = 0;  // in the target
  duration system_call = 0;
  duration membarrier = 0;  // beyond the system call and the interrupts
  duration futex_wait = 0;  // beyond the system call
  duration futex_wake = 0;  // for each woken thread
  duration wake_up = 0;     // from the call until the woken thread runs on an idle CPU
  // The same where the CPU fell idle just now, and the call where no CPU is idle: 0 if the file
  // does not tell, and then as above.
  duration futex_wake_soon = 0;
  duration wake_up_soon = 0;
  duration futex_wake_busy = 0;
  duration switch_threads = 0;
  duration time_slice = 0;
  duration migrate = 0;  // beyond the switch, for a thread that comes from another CPU

  // What a hypervisor takes from each CPU: its share of the time, and for how long at a time.
  double stolen_share = 0;
  bool refuses_membarrier = false;
  duration stolen_for = 0;

  unsigned cpus() const noexcept {
    return sockets * clusters_per_socket * cores_per_cluster * threads_per_core;
  }
  distance between(unsigned cpu, unsigned other) const noexcept;
  duration transfer_between(unsigned cpu, unsigned other) const noexcept {
    return transfer[static_cast<unsigned>(between(cpu, other))];
  }
  // Of so many instructions that are no accesses.
  duration time_of(double instructions) const noexcept {
    return static_cast<duration>(instructions * static_cast<double>(instruction));
  }
  double cycles(duration time) const noexcept { return static_cast<double>(time) * ghz / 1000; }
};

// Calls f(name in a machine file, it) for each of the times, but for transfer[0], which is `hit`.
// A file may lack those for which may_be_missing(name).
void for_each_time(machine_description& of,
                   const std::function<void(const std::string& name, duration& time)>& f);

bool may_be_missing(const std::string& name);

inline constexpr unsigned most_cpus = 512;

// The machine of that name among those that come with Readmost, or in a file of that name. Throws
// std::runtime_error, which names what is wrong with it.
machine_description find_machine(const std::string& name_or_file);

// From the text of a machine file; `origin` is for messages.
machine_description machine_from(const std::string& text, const std::string& origin);

}  // namespace readmost::simulation
