// SPDX-License-Identifier: Apache-2.0
// The NUMA nodes of the machine, and the one a thread belongs to: that of the CPU it was on when it
// first asked. Machines of one node can play others: RIVALS_NODES=n in the environment says that
// there are n, to which threads belong by their numbers.
#pragma once

#include <sched.h>

#include <cstdint>
#include <cstdio>

#include "rivals/home.hpp"

#if !defined(READMOST_SIMULATED)
// libnuma's, where the program is linked with it.
extern "C" {
[[gnu::weak]] int numa_available();
[[gnu::weak]] int numa_max_node();
}
#endif

namespace rivals {

inline constexpr unsigned most_nodes = 1024;

namespace detail {

struct known_nodes {
  std::uint32_t count;
  bool simulated;
};

// The number at the start of a text, 0 where there is none.
constexpr unsigned leading_number(const char*& text, const char* end) noexcept {
  unsigned value = 0;
  for (; text != end && *text >= '0' && *text <= '9' && value < most_nodes * 10; ++text) {
    value = value * 10 + static_cast<unsigned>(*text - '0');
  }
  return value;
}

// The highest number of a list such as "0-1,4".
constexpr unsigned highest_number(const char* text, const char* end) noexcept {
  unsigned highest = 0;
  while (text != end) {
    const unsigned value = leading_number(text, end);
    if (value > highest) highest = value;
    if (text != end) ++text;
  }
  return highest;
}

inline unsigned nodes_of_machine() noexcept {
#if !defined(READMOST_SIMULATED)
  if (&numa_available != nullptr && &numa_max_node != nullptr && numa_available() >= 0) {
    // Below 0 until its constructor has run.
    const int highest = numa_max_node();
    if (highest >= 0) return static_cast<unsigned>(highest) + 1;
  }
#endif
  const platform::file_content list = platform::content_of("/sys/devices/system/node/online");
  if (list.data == nullptr) return 1;
  const unsigned count = highest_number(list.data, list.data + list.size) + 1;
  platform::give_back(list);
  return count < most_nodes ? count : most_nodes;
}

inline known_nodes find_nodes() noexcept {
  char asked[16];
  if (platform::environment("RIVALS_NODES", asked, sizeof asked) && *asked != '\0') {
    const char* text = asked;
    const unsigned count = leading_number(text, asked + sizeof asked);
    if (*text == '\0' && count >= 1 && count <= most_nodes) return {count, true};
    char line[128];
    const int length = std::snprintf(
        line, sizeof line,
        "RIVALS_NODES=%s is no number from 1 to %u. Using the nodes of this machine.\n", asked,
        most_nodes);
    platform::write_text(nullptr, line, static_cast<std::size_t>(length));
  }
  return {nodes_of_machine(), false};
}

// 0: not yet known.
inline constinit platform::atomic<std::uint32_t> node_count{0};
inline constinit platform::atomic<bool> simulated_nodes{false};

inline bool are_simulated() noexcept {
  return simulated_nodes.load(platform::relaxed);
}

}  // namespace detail

// How many there are; asked once, at first use. Several threads may be first at once and find the
// same.
inline unsigned nodes() noexcept {
  std::uint32_t count = detail::node_count.load(platform::acquire);
  if (count == 0) {
    const detail::known_nodes found = detail::find_nodes();
    detail::simulated_nodes.store(found.simulated, platform::relaxed);
    detail::node_count.store(found.count, platform::release);
    count = found.count;
  }
  return count;
}

namespace detail {

#if !defined(READMOST_SIMULATED)
// One more than the calling thread's node; 0 until it has asked.
inline constinit READMOST_THREAD_LOCAL std::uint32_t own_node = 0;

[[gnu::noinline, gnu::cold]] inline void find_own_node() noexcept {
  unsigned cpu = 0;
  unsigned node = 0;
  own_node = (getcpu(&cpu, &node) == 0 ? node : 0) + 1;
}
#endif

}  // namespace detail

// The calling thread's, among `count` that a lock has been made for. The same for all its life.
inline unsigned home_node(unsigned count) noexcept {
  if (count == 1) return 0;
#if !defined(READMOST_SIMULATED)
  if (count == nodes() && !detail::are_simulated()) {
    if (detail::own_node == 0) detail::find_own_node();
    return (detail::own_node - 1) % count;
  }
#endif
  return my_number() % count;
}

}  // namespace rivals
