// SPDX-License-Identifier: Apache-2.0
#include "machine/topology.hpp"

#include <fstream>
#include <numeric>

#include "launch.hpp"

namespace readmost::command_test {
namespace {

using readmost::command::cpu_distance;
using readmost::command::cpu_topology;
using readmost::command::topology_of;

// A folder like the kernel's.
class topology : public command {
 protected:
  void add_cpu(int cpu, const std::string& siblings, int socket, const std::string& cluster) {
    const fs::path own = path(fmt::format("cpu{}", cpu));
    fs::create_directories(own / "topology");
    put(own / "topology/thread_siblings_list", siblings);
    put(own / "topology/physical_package_id", std::to_string(socket));
    if (cluster.empty()) return;
    const std::vector<std::pair<int, std::string>> caches{
        {1, siblings}, {2, siblings}, {3, cluster}};
    for (std::size_t i = 0; i < caches.size(); ++i) {
      const fs::path cache = own / fmt::format("cache/index{}", i);
      fs::create_directories(cache);
      put(cache / "level", std::to_string(caches[i].first));
      put(cache / "shared_cpu_list", caches[i].second);
    }
  }

  static std::vector<unsigned> sizes(const cpu_topology& all) {
    return {all.sockets, all.clusters_per_socket, all.cores_per_cluster, all.threads_per_core};
  }

 private:
  static void put(const fs::path& file, const std::string& text) {
    std::ofstream(file) << text << '\n';
  }
};

TEST_F(topology, finds_sockets_clusters_cores_and_threads) {
  // Two sockets of two clusters of two cores of two threads, numbered as Linux does: the second
  // threads of all cores last.
  for (int cpu = 0; cpu < 16; ++cpu) {
    const int core = cpu % 8;
    const int first = core / 2 * 2;
    add_cpu(cpu, fmt::format("{},{}", core, core + 8), core / 4,
            fmt::format("{}-{},{}-{}", first, first + 1, first + 8, first + 9));
  }
  std::vector<int> cpus(16);
  std::iota(cpus.begin(), cpus.end(), 0);
  const cpu_topology all = topology_of(cpus, folder);
  EXPECT_TRUE(all.known);
  EXPECT_EQ(sizes(all), (std::vector<unsigned>{2, 2, 2, 2}));
  EXPECT_EQ(all.size_of_regular_machine(), 16U);
  const auto distance = [&](std::size_t other) {
    return distance_between(all.places[0], all.places[other]);
  };
  EXPECT_EQ(distance(8), cpu_distance::same_core);
  EXPECT_EQ(distance(1), cpu_distance::same_cluster);
  EXPECT_EQ(distance(9), cpu_distance::same_cluster);
  EXPECT_EQ(distance(2), cpu_distance::same_socket);
  EXPECT_EQ(distance(4), cpu_distance::other_socket);
}

TEST_F(topology, counts_usable_cpus_only) {
  for (int cpu = 0; cpu < 8; ++cpu) add_cpu(cpu, std::to_string(cpu), cpu / 4, "");
  const cpu_topology some = topology_of({1, 2, 3, 7}, folder);
  EXPECT_EQ(sizes(some), (std::vector<unsigned>{2, 1, 3, 1}));
  EXPECT_EQ(some.size_of_regular_machine(), 6U);
  EXPECT_EQ(distance_between(some.places[0], some.places[1]), cpu_distance::same_cluster);
}

TEST_F(topology, takes_a_socket_for_the_cluster_where_no_cache_is_shared) {
  for (int cpu = 0; cpu < 4; ++cpu) add_cpu(cpu, std::to_string(cpu), 0, "");
  EXPECT_EQ(sizes(topology_of({0, 1, 2, 3}, folder)), (std::vector<unsigned>{1, 1, 4, 1}));
}

TEST_F(topology, says_when_the_system_does_not_tell) {
  add_cpu(0, "0", 0, "0-1");
  const cpu_topology unknown = topology_of({0, 1}, folder);
  EXPECT_FALSE(unknown.known);
  EXPECT_EQ(sizes(unknown), (std::vector<unsigned>{1, 1, 2, 1}));
}

}  // namespace
}  // namespace readmost::command_test
