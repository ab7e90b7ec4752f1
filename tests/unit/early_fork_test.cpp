// Forks are watched from the start. A thread that forks while another comes to use a part of the
// library for the first time would else have a child in which nobody put that part in order. Each
// test is the first thing that its process does.
#include <gtest/gtest.h>

#include <readmost/visible_readers.hpp>

#include "helper_thread.hpp"
#include "processes.hpp"
#include "reclamation.hpp"
#include "registry.hpp"

namespace {

using contract::in_a_child;

TEST(early_fork, finds_the_domains_watched) {
  auto& sleepers = readmost::default_domain.drain_sleepers;
  sleepers = 1;
  in_a_child([&] { EXPECT_EQ(sleepers, 0U); });
  sleepers = 0;
}

TEST(early_fork, finds_what_has_been_retired_watched) {
  auto& throttled = readmost::all_reclamation[0].throttled;
  throttled = 1;
  in_a_child([&] { EXPECT_EQ(throttled, 0U); });
  throttled = 0;
}

TEST(early_fork, finds_hazard_pointers_watched) {
  contract::helper_thread other;
  readmost::thread_record* record = nullptr;
  other.call([&] { return record = readmost::enlist(), 0; });
  auto& stopped_by = record->hazards.stopped_by;
  stopped_by = &stopped_by;
  in_a_child([&] { EXPECT_EQ(stopped_by, nullptr); });
  stopped_by = nullptr;
}

TEST(early_fork, finds_visible_readers_watched) {
  auto& slot = readmost::paper_slots[0];
  slot = readmost::highest_number << readmost::number_shift;
  in_a_child([&] { EXPECT_EQ(slot, 0U); });
  slot = 0;
}

}  // namespace
