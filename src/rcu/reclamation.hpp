// What a domain keeps for reclamation, for reclamation.cpp and for who looks at it from outside.
#pragma once

#include <readmost/detail/rcu/retired.hpp>
#include <readmost/detail/threads/gate.hpp>

namespace readmost::detail {

struct reclamation {
  // Those who retire look here.
  alignas(platform::cache_line) platform::atomic<std::uint32_t> reclaimer{};  // its state
  platform::atomic<bool> in_place{};
  platform::atomic<bool> hurried{};
  platform::atomic<std::uint64_t> most_objects{backlog_limit{}.objects};
  platform::atomic<std::uint64_t> most_bytes{backlog_limit{}.bytes};
  platform::atomic<std::uint32_t> throttled{};  // threads asleep until the backlog is smaller

  // What waits, but for what threads have not counted yet.
  alignas(platform::cache_line) platform::atomic<std::int64_t> objects{};
  platform::atomic<std::int64_t> bytes{};
  platform::atomic<std::uint64_t> reclaimed{};
  platform::atomic<std::uint32_t> reclaimed_some{};  // the word that throttled threads sleep on
  // What threads without a record have retired.
  platform::atomic<retired*> unrecorded_latest{};

  // Barriers take a number; whoever collected after that and reclaimed it all publishes it.
  alignas(platform::cache_line) platform::atomic<std::uint32_t> barriers_wanted{};
  platform::atomic<std::uint32_t> barriers_done{};
  platform::atomic<std::uint32_t> executor{};  // whether there is one

  gate moving;

  // Taken out of the queues by a thread that forked, for the next collection.
  platform::variable<retired*> early{};
  platform::atomic<bool> has_early{};

  // For the executor.
  platform::variable<retired*> current{};
  platform::variable<std::uint64_t> current_grace_period{};
  platform::variable<retired*> done{};
  platform::variable<std::uint32_t> depth{};  // of reclaim_all() calls, one inside the other
};

extern reclamation all_reclamation[max_domains];

// Starts the domain's thread, where there is none and one may be had; schedule() does it too.
void start_reclaimer(domain& d) noexcept;

}  // namespace readmost::detail
