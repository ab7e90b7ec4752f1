// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

namespace readmost::command {

// The closest that two CPUs share. A cluster is what shares the last cache.
enum class cpu_distance { same_core, same_cluster, same_socket, other_socket };

inline constexpr cpu_distance cpu_distances[] = {
    cpu_distance::same_core, cpu_distance::same_cluster, cpu_distance::same_socket,
    cpu_distance::other_socket};

// As machine files spell it.
std::string_view name_of(cpu_distance distance);

struct cpu_topology {
  // Equal numbers mean the same core, cluster or socket of the machine.
  struct place {
    int cpu;
    int core;
    int cluster;
    int socket;
  };
  std::vector<place> places;
  bool known = true;  // false: the system does not tell; each CPU counts as a core of one socket

  // The largest of each kind, so that a regular machine of these sizes holds all CPUs.
  unsigned sockets = 1;
  unsigned clusters_per_socket = 1;
  unsigned cores_per_cluster = 1;
  unsigned threads_per_core = 1;

  unsigned long size_of_regular_machine() const;
};

cpu_distance distance_between(const cpu_topology::place& one, const cpu_topology::place& other);

// Of these CPUs; `system` is the kernel's folder of CPUs.
cpu_topology topology_of(const std::vector<int>& cpus,
                         const std::filesystem::path& system = "/sys/devices/system/cpu");

}  // namespace readmost::command
