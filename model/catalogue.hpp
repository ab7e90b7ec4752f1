// SPDX-License-Identifier: Apache-2.0
// The scenarios by name, and how each is explored. A scenario registers itself:
//
//   SCENARIO(reader_against_writer, "a passive reader and a writer are never inside at once",
//            effort::small) {
//     auto& lock = biased_lock(s);
//     ...
//   }
//
// The body runs anew for every execution, with `s` for the threads: see engine/scenario.hpp.
#pragma once

#include <string>
#include <vector>

#include "engine/explore.hpp"

namespace readmost::model {

// How far a scenario can be explored within `most_usual_executions`.
enum class effort : std::uint8_t {
  small,   // exhaustively, under every memory model
  medium,  // exhaustively under sequential consistency and TSO, otherwise with few surprises and at
           // random
  large,   // with few surprises and at random
};
const char* name_of(effort size) noexcept;

// A search by a scenario's effort that begins more executions than these has failed: a change has
// made the scenario larger than it says, and running all of them would take longer than all others.
// Half a minute or so.
inline constexpr std::uint64_t most_usual_executions = 1'500'000;

struct named_scenario {
  const char* name;
  const char* proves;
  effort size;
  void (*describe)(scenario&);
  // Of a scenario that tests the checker itself: the kind of violation that must be found, and the
  // models under which it must be, as a set of bits.
  violation_kind defect = violation_kind::none;
  unsigned fails_under = 0;

  bool fails_under_model(memory_model memory) const {
    return (fails_under & (1U << static_cast<unsigned>(memory))) != 0;
  }
};

// Sorted by name.
const std::vector<named_scenario>& catalogue();

struct added_to_catalogue {
  explicit added_to_catalogue(const named_scenario& which);
};

inline constexpr unsigned under_sequential = 1U << static_cast<unsigned>(memory_model::sequential);
inline constexpr unsigned under_tso = 1U << static_cast<unsigned>(memory_model::tso);
inline constexpr unsigned under_release_acquire =
    1U << static_cast<unsigned>(memory_model::release_acquire);
inline constexpr unsigned under_all = under_sequential | under_tso | under_release_acquire;

// How `make test` explores a scenario under a model.
exploration usual_exploration(const named_scenario& which, memory_model memory);

}  // namespace readmost::model

#define SCENARIO(name, proves, size)                                                          \
  static void name(readmost::model::scenario&);                                               \
  static const readmost::model::added_to_catalogue added_##name({#name, proves, size, name}); \
  static void name([[maybe_unused]] readmost::model::scenario& s)

// A scenario with a defect that the checker must find.
#define BROKEN_SCENARIO(name, shows, size, defect, fails_under)                          \
  static void name(readmost::model::scenario&);                                          \
  static const readmost::model::added_to_catalogue added_##name(                         \
      {#name, shows, size, name, readmost::model::violation_kind::defect, fails_under}); \
  static void name([[maybe_unused]] readmost::model::scenario& s)
