// SPDX-License-Identifier: Apache-2.0
#include "machine/topology.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace readmost::command {
namespace {

namespace fs = std::filesystem;

// The first number: of a list of CPUs, as in 0-3,8, the lowest CPU.
std::optional<int> number_in(const fs::path& file) {
  std::ifstream in(file);
  int number = 0;
  return in >> number ? std::optional(number) : std::nullopt;
}

// The lowest CPU that has the same cache of the third level.
std::optional<int> cluster_of(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder / "cache", error)) {
    if (number_in(entry.path() / "level") == 3) return number_in(entry.path() / "shared_cpu_list");
  }
  return std::nullopt;
}

// How many members the largest group has.
unsigned largest(const std::map<int, std::set<int>>& groups) {
  std::size_t most = 1;
  for (const auto& [number, members] : groups) most = std::max(most, members.size());
  return static_cast<unsigned>(most);
}

}  // namespace

std::string_view name_of(cpu_distance distance) {
  switch (distance) {
    case cpu_distance::same_core:
      return "same_core";
    case cpu_distance::same_cluster:
      return "same_cluster";
    case cpu_distance::same_socket:
      return "same_socket";
    case cpu_distance::other_socket:
      break;
  }
  return "other_socket";
}

unsigned long cpu_topology::size_of_regular_machine() const {
  return 1UL * sockets * clusters_per_socket * cores_per_cluster * threads_per_core;
}

cpu_distance distance_between(const cpu_topology::place& one, const cpu_topology::place& other) {
  if (one.core == other.core) return cpu_distance::same_core;
  if (one.cluster == other.cluster) return cpu_distance::same_cluster;
  if (one.socket == other.socket) return cpu_distance::same_socket;
  return cpu_distance::other_socket;
}

cpu_topology topology_of(const std::vector<int>& cpus, const fs::path& system) {
  cpu_topology topology;
  // Clusters get numbers of their own, because without a shared cache the socket is the cluster.
  std::map<std::pair<int, int>, int> clusters;
  for (const int cpu : cpus) {
    const fs::path folder = system / fmt::format("cpu{}", cpu);
    const std::optional<int> core = number_in(folder / "topology/thread_siblings_list");
    const std::optional<int> socket = number_in(folder / "topology/physical_package_id");
    if (!core || !socket) topology.known = false;
    const std::pair cluster(socket.value_or(0), cluster_of(folder).value_or(-1));
    const int number =
        clusters.try_emplace(cluster, static_cast<int>(clusters.size())).first->second;
    topology.places.push_back({cpu, core.value_or(cpu), number, socket.value_or(0)});
  }
  if (!topology.known) {
    for (cpu_topology::place& each : topology.places) each = {each.cpu, each.cpu, 0, 0};
  }

  std::set<int> sockets;
  std::map<int, std::set<int>> clusters_of;  // by socket
  std::map<int, std::set<int>> cores_of;     // by cluster
  std::map<int, std::set<int>> threads_of;   // by core
  for (const cpu_topology::place& each : topology.places) {
    sockets.insert(each.socket);
    clusters_of[each.socket].insert(each.cluster);
    cores_of[each.cluster].insert(each.core);
    threads_of[each.core].insert(each.cpu);
  }
  topology.sockets = static_cast<unsigned>(std::max<std::size_t>(sockets.size(), 1));
  topology.clusters_per_socket = largest(clusters_of);
  topology.cores_per_cluster = largest(cores_of);
  topology.threads_per_core = largest(threads_of);
  return topology;
}

}  // namespace readmost::command
