// SPDX-License-Identifier: Apache-2.0
// Hazard pointers: the shape of C++26, what they protect, when objects are reclaimed, and what
// threads and processes leave behind.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <readmost/hazard_pointer.hpp>
#include <readmost/shared_mutex.hpp>
#include <span>
#include <thread>
#include <type_traits>
#include <vector>

#include "support/fork_stress.hpp"
#include "support/helper_thread.hpp"
#include "support/processes.hpp"

namespace {

using namespace readmost::detail;
using readmost::clear_hazard_pointer_batch;
using readmost::hazard_pointer;
using readmost::hazard_pointer_clean_up;
using readmost::hazard_pointer_limit_backlog;
using readmost::hazard_pointer_obj_base;
using readmost::make_hazard_pointer;
using readmost::make_hazard_pointer_batch;
using test::helper_thread;
using test::in_a_child;

// --- Shape ---------------------------------------------------------------------------------------

struct incomplete;
struct incomplete : hazard_pointer_obj_base<incomplete> {};

struct to_nobody {
  template <class T>
  void operator()(T*) const {}
};
struct with_deleter : hazard_pointer_obj_base<with_deleter, to_nobody> {};

static_assert(READMOST_HAZARD_POINTER == 202606L);
static_assert(std::is_nothrow_default_constructible_v<hazard_pointer>);
static_assert(std::is_nothrow_move_constructible_v<hazard_pointer>);
static_assert(std::is_nothrow_move_assignable_v<hazard_pointer>);
static_assert(!std::is_copy_constructible_v<hazard_pointer>);
static_assert(!std::is_copy_assignable_v<hazard_pointer>);
static_assert(std::is_nothrow_swappable_v<hazard_pointer>);
static_assert(sizeof(hazard_pointer) == sizeof(void*));

template <class Hazard = hazard_pointer>
concept has_the_standard_s_members =
    requires(Hazard& h, const Hazard& c, incomplete*& pointer, const incomplete* constant,
             const std::atomic<incomplete*>& source, incomplete& object, with_deleter& other,
             std::span<Hazard> batch) {
      { c.empty() } noexcept -> std::same_as<bool>;
      { h.protect(source) } noexcept -> std::same_as<incomplete*>;
      { h.try_protect(pointer, source) } noexcept -> std::same_as<bool>;
      { h.reset_protection(constant) } noexcept -> std::same_as<void>;
      { h.reset_protection(nullptr) } noexcept -> std::same_as<void>;
      { h.reset_protection() } noexcept -> std::same_as<void>;
      { h.swap(h) } noexcept -> std::same_as<void>;
      { swap(h, h) } noexcept -> std::same_as<void>;
      { make_hazard_pointer() } -> std::same_as<Hazard>;
      { make_hazard_pointer_batch(batch) } -> std::same_as<void>;
      { clear_hazard_pointer_batch(batch) } noexcept -> std::same_as<void>;
      { object.retire() } noexcept -> std::same_as<void>;
      { object.retire(std::default_delete<incomplete>()) } noexcept -> std::same_as<void>;
      { other.retire(to_nobody()) } noexcept -> std::same_as<void>;
    };
static_assert(has_the_standard_s_members<>);
static_assert(!noexcept(make_hazard_pointer()));
static_assert(!noexcept(make_hazard_pointer_batch(std::span<hazard_pointer>())));
static_assert(std::is_nothrow_move_constructible_v<with_deleter>);
static_assert(std::is_nothrow_move_assignable_v<with_deleter>);
static_assert(std::is_nothrow_copy_constructible_v<with_deleter>);

// Names that a user's class has from elsewhere.
struct names {
  int next = 1, kind = 2, link = 3, deleter = 4, retired = 5;
};
struct with_names : names, hazard_pointer_obj_base<with_names> {
  int sum() const { return next + kind + link + deleter + retired; }
};

// No more of D than that it is default constructible and move assignable.
struct assigned_only;
struct assigning_deleter {
  int* where = nullptr;
  assigning_deleter() = default;
  explicit assigning_deleter(int& count) : where(&count) {}
  assigning_deleter(assigning_deleter&&) = delete;
  assigning_deleter& operator=(assigning_deleter&& other) noexcept {
    where = other.where;
    return *this;
  }
  void operator()(assigned_only*) const { ++*where; }
};
struct assigned_only : hazard_pointer_obj_base<assigned_only, assigning_deleter> {};
static_assert(!std::is_copy_constructible_v<assigned_only>);
// Two pointers; a deleter without state takes no room.
static_assert(sizeof(with_deleter) == 2 * sizeof(void*));
static_assert(!std::is_constructible_v<hazard_pointer_obj_base<incomplete>>);

// --- Objects -------------------------------------------------------------------------------------

// Counts its instances; the canary is valid until the memory is reused.
struct counted : hazard_pointer_obj_base<counted> {
  static constexpr std::uint64_t living = 0x1111'2222'3333'4444;
  static inline std::atomic<int> alive{0};

  explicit counted(int content = 0) : value(content) { alive.fetch_add(1); }
  ~counted() {
    canary.store(0, std::memory_order_relaxed);
    alive.fetch_sub(1);
  }

  std::atomic<std::uint64_t> canary{living};
  int value;
};

// A deleter for tests that look at reclaimed objects: marks the object and keeps its memory.
struct marked;
struct mark_only {
  void operator()(marked* object) const;
};
struct marked : hazard_pointer_obj_base<marked, mark_only> {
  int reclaimed = 0;
};
void mark_only::operator()(marked* object) const {
  ++object->reclaimed;
}

// More objects than a thread retires before it scans, counting slots kept by threads of other
// tests.
constexpr int most_that_wait = 500;

class hazard_pointers : public testing::Test {
 protected:
  // However long a test takes, no scan is due for that.
  void SetUp() override {
    hazard_pointer_limit_backlog({.nanoseconds = ~std::uint64_t{0}});
    hazard_pointer_clean_up();
    ASSERT_EQ(counted::alive.load(), 0);
  }
};

// --- What is protected ---------------------------------------------------------------------------

TEST_F(hazard_pointers, are_empty_until_made) {
  hazard_pointer hazard;
  EXPECT_TRUE(hazard.empty());
  hazard = make_hazard_pointer();
  EXPECT_FALSE(hazard.empty());
}

TEST_F(hazard_pointers, keep_what_they_protect_until_they_let_go) {
  marked object;
  std::atomic<marked*> source{&object};
  hazard_pointer hazard = make_hazard_pointer();
  EXPECT_EQ(hazard.protect(source), &object);
  source = nullptr;
  object.retire();
  hazard_pointer_clean_up();
  EXPECT_EQ(object.reclaimed, 0);
  hazard.reset_protection();
  hazard_pointer_clean_up();
  EXPECT_EQ(object.reclaimed, 1);
}

TEST_F(hazard_pointers, protect_one_object_and_no_other) {
  std::array<marked, 3> objects;
  hazard_pointer hazard = make_hazard_pointer();
  hazard.reset_protection(&objects[1]);
  for (marked& object : objects) object.retire();
  hazard_pointer_clean_up();
  EXPECT_EQ(objects[0].reclaimed, 1);
  EXPECT_EQ(objects[1].reclaimed, 0);
  EXPECT_EQ(objects[2].reclaimed, 1);
  hazard.reset_protection(nullptr);
  hazard_pointer_clean_up();
  EXPECT_EQ(objects[1].reclaimed, 1);
}

TEST_F(hazard_pointers, let_go_of_one_object_when_they_protect_the_next) {
  std::array<marked, 2> objects;
  hazard_pointer hazard = make_hazard_pointer();
  for (marked& object : objects) {
    std::atomic<marked*> source{&object};
    hazard.protect(source);
  }
  for (marked& object : objects) object.retire();
  hazard_pointer_clean_up();
  EXPECT_EQ(objects[0].reclaimed, 1);
  EXPECT_EQ(objects[1].reclaimed, 0);
  hazard.reset_protection();
  hazard_pointer_clean_up();
}

TEST_F(hazard_pointers, let_go_when_they_end) {
  marked object;
  {
    hazard_pointer hazard = make_hazard_pointer();
    hazard.reset_protection(&object);
    object.retire();
    hazard_pointer_clean_up();
    EXPECT_EQ(object.reclaimed, 0);
  }
  hazard_pointer_clean_up();
  EXPECT_EQ(object.reclaimed, 1);
}

TEST_F(hazard_pointers, protect_nothing_where_there_is_nothing) {
  marked object;
  std::atomic<marked*> source{nullptr};
  hazard_pointer hazard = make_hazard_pointer();
  hazard.reset_protection(&object);
  EXPECT_EQ(hazard.protect(source), nullptr);
  object.retire();
  hazard_pointer_clean_up();
  EXPECT_EQ(object.reclaimed, 1);
}

TEST_F(hazard_pointers, try_in_vain_when_the_source_has_changed) {
  std::array<marked, 2> objects;
  std::atomic<marked*> source{&objects[1]};
  hazard_pointer hazard = make_hazard_pointer();
  marked* found = &objects[0];
  EXPECT_FALSE(hazard.try_protect(found, source));
  EXPECT_EQ(found, &objects[1]) << "what the source points to now";
  for (marked& object : objects) object.retire();
  hazard_pointer_clean_up();
  EXPECT_EQ(objects[0].reclaimed, 1) << "protected all the same";
  EXPECT_EQ(objects[1].reclaimed, 1) << "protected all the same";
}

TEST_F(hazard_pointers, try_with_success_when_the_source_has_not_changed) {
  marked object;
  std::atomic<marked*> source{&object};
  hazard_pointer hazard = make_hazard_pointer();
  marked* found = &object;
  EXPECT_TRUE(hazard.try_protect(found, source));
  EXPECT_EQ(found, &object);
  object.retire();
  hazard_pointer_clean_up();
  EXPECT_EQ(object.reclaimed, 0);
  hazard.reset_protection();
  hazard_pointer_clean_up();
}

TEST_F(hazard_pointers, protect_objects_whose_base_is_not_at_their_beginning) {
  struct first {
    std::uint64_t filler[3] = {};
  };
  struct second_base : first, hazard_pointer_obj_base<second_base, to_nobody> {};
  second_base object;
  std::atomic<second_base*> source{&object};
  hazard_pointer hazard = make_hazard_pointer();
  EXPECT_EQ(hazard.protect(source), &object);
  object.retire();
  hazard_pointer_clean_up();
  EXPECT_NE(my_record().hazards.latest.load(), nullptr) << "it was reclaimed";
  hazard.reset_protection();
  hazard_pointer_clean_up();
  EXPECT_EQ(my_record().hazards.latest.load(), nullptr) << "it was not reclaimed";
}

TEST_F(hazard_pointers, protect_as_well_without_a_report_and_without_being_online) {
  helper_thread reader;
  for (int i = 0; i < 20; ++i) {
    auto object = std::make_unique<marked>();
    std::atomic<marked*> source{object.get()};
    hazard_pointer hazard;
    reader.call([&] {
      if (i % 2 == 0) readmost::offline();
      hazard = make_hazard_pointer();
      return hazard.protect(source) == object.get();
    });
    source = nullptr;
    object->retire();
    hazard_pointer_clean_up();
    EXPECT_EQ(object->reclaimed, 0);
    reader.call([&] { hazard = hazard_pointer(); });
    hazard_pointer_clean_up();
    EXPECT_EQ(object->reclaimed, 1);
  }
}

TEST_F(hazard_pointers, make_their_thread_answer_rounds_of_others) {
  marked object;
  std::atomic<marked*> source{&object};
  helper_thread writer;
  hazard_pointer hazard = make_hazard_pointer();
  hazard.protect(source);
  const std::uint64_t asked = default_domain.version.fetch_add(2) + 2;
  ASSERT_NE(my_record().seen.load(), asked);
  hazard.protect(source);
  EXPECT_EQ(my_record().seen.load() & ~std::uint64_t{1}, asked);
  hazard.reset_protection();
}

// --- Moving --------------------------------------------------------------------------------------

TEST_F(hazard_pointers, go_on_protecting_when_they_are_moved) {
  marked object;
  hazard_pointer from = make_hazard_pointer();
  from.reset_protection(&object);
  object.retire();
  hazard_pointer to(std::move(from));
  EXPECT_TRUE(from.empty());
  EXPECT_FALSE(to.empty());
  hazard_pointer_clean_up();
  EXPECT_EQ(object.reclaimed, 0);
  hazard_pointer third;
  third = std::move(to);
  EXPECT_TRUE(to.empty());
  hazard_pointer_clean_up();
  EXPECT_EQ(object.reclaimed, 0);
  third = hazard_pointer();
  hazard_pointer_clean_up();
  EXPECT_EQ(object.reclaimed, 1);
}

TEST_F(hazard_pointers, survive_being_moved_to_themselves) {
  marked object;
  hazard_pointer hazard = make_hazard_pointer();
  hazard.reset_protection(&object);
  hazard_pointer& same = hazard;
  hazard = std::move(same);
  EXPECT_FALSE(hazard.empty());
  object.retire();
  hazard_pointer_clean_up();
  EXPECT_EQ(object.reclaimed, 0);
  hazard.reset_protection();
  hazard_pointer_clean_up();
}

TEST_F(hazard_pointers, let_go_when_they_are_assigned_to) {
  marked object;
  hazard_pointer hazard = make_hazard_pointer();
  hazard.reset_protection(&object);
  object.retire();
  hazard = make_hazard_pointer();
  hazard_pointer_clean_up();
  EXPECT_EQ(object.reclaimed, 1);
}

TEST_F(hazard_pointers, exchange_what_they_protect) {
  std::array<marked, 2> objects;
  std::array<hazard_pointer, 2> hazards{make_hazard_pointer(), make_hazard_pointer()};
  for (std::size_t i = 0; i < 2; ++i) hazards[i].reset_protection(&objects[i]);
  for (marked& object : objects) object.retire();
  swap(hazards[0], hazards[1]);
  hazards[0].reset_protection();
  hazard_pointer_clean_up();
  EXPECT_EQ(objects[0].reclaimed, 0);
  EXPECT_EQ(objects[1].reclaimed, 1);
  hazard_pointer empty;
  empty.swap(hazards[1]);
  EXPECT_TRUE(hazards[1].empty());
  hazard_pointer_clean_up();
  EXPECT_EQ(objects[0].reclaimed, 0);
  empty = hazard_pointer();
  hazard_pointer_clean_up();
  EXPECT_EQ(objects[0].reclaimed, 1);
}

TEST_F(hazard_pointers, outlive_the_thread_that_made_them) {
  marked object;
  std::atomic<marked*> source{&object};
  hazard_pointer hazard;
  std::thread([&] {
    hazard_pointer made = make_hazard_pointer();
    made.protect(source);
    hazard = std::move(made);
  }).join();
  object.retire();
  hazard_pointer_clean_up();
  EXPECT_EQ(object.reclaimed, 0);
  std::thread([moved = std::move(hazard)] {}).join();
  hazard_pointer_clean_up();
  EXPECT_EQ(object.reclaimed, 1);
}

TEST_F(hazard_pointers, are_as_many_as_are_wanted) {
  constexpr std::size_t many = 300;
  std::vector<marked> objects(many);
  std::vector<hazard_pointer> hazards;
  for (marked& object : objects) {
    hazards.push_back(make_hazard_pointer());
    hazards.back().reset_protection(&object);
  }
  for (marked& object : objects) object.retire();
  hazard_pointer_clean_up();
  for (const marked& object : objects) EXPECT_EQ(object.reclaimed, 0);
  for (std::size_t i = 0; i < many; i += 2) hazards[i].reset_protection();
  hazard_pointer_clean_up();
  for (std::size_t i = 0; i < many; ++i) EXPECT_EQ(objects[i].reclaimed, i % 2 == 0 ? 1 : 0);
  hazards.clear();
  hazard_pointer_clean_up();
  for (const marked& object : objects) EXPECT_EQ(object.reclaimed, 1);
}

TEST_F(hazard_pointers, use_few_slots_again_and_again) {
  std::vector<const void*> slots;
  for (int i = 0; i < 1000; ++i) {
    hazard_slot* const slot = take_hazard_slot();
    ASSERT_NE(slot, nullptr);
    EXPECT_EQ(slot->object.load(), nullptr);
    slots.push_back(slot);
    give_back_hazard_slot(*slot);
  }
  std::sort(slots.begin(), slots.end());
  EXPECT_EQ(std::unique(slots.begin(), slots.end()) - slots.begin(), 1);
}

TEST_F(hazard_pointers, of_a_signal_handler_are_its_own) {
  static std::atomic<counted*> source{nullptr};
  static std::atomic<int> failures{0};
  counted object(7);
  source = &object;
  failures = 0;
  struct sigaction handler = {};
  handler.sa_handler = [](int) {
    hazard_pointer hazard = make_hazard_pointer();
    if (hazard.protect(source)->value != 7) failures.fetch_add(1);
  };
  struct sigaction before = {};
  ASSERT_EQ(sigaction(SIGUSR1, &handler, &before), 0);
  const pthread_t me = pthread_self();
  std::atomic<bool> stop{false};
  std::thread sender([&] {
    while (!stop.load()) {
      pthread_kill(me, SIGUSR1);
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 20'000; ++i) {
    hazard_pointer one = make_hazard_pointer();
    hazard_pointer other = make_hazard_pointer();
    if (one.protect(source) != &object || other.protect(source) != &object) failures.fetch_add(1);
  }
  stop = true;
  sender.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_EQ(failures.load(), 0);
  EXPECT_FALSE(my_record().hazards.in_use);
  // The cache holds no slot twice.
  std::vector<hazard_pointer> all(20);
  for (hazard_pointer& each : all) each = make_hazard_pointer();
  std::array<marked, 20> objects;
  for (std::size_t i = 0; i < 20; ++i) all[i].reset_protection(&objects[i]);
  for (marked& each : objects) each.retire();
  hazard_pointer_clean_up();
  for (const marked& each : objects) EXPECT_EQ(each.reclaimed, 0);
  all.clear();
  hazard_pointer_clean_up();
}

// --- When objects are reclaimed ------------------------------------------------------------------

TEST_F(hazard_pointers, bound_what_waits) {
  int most = 0;
  for (int i = 0; i < 10'000; ++i) {
    (new counted)->retire();
    most = std::max(most, counted::alive.load());
  }
  EXPECT_LT(most, most_that_wait);
}

TEST_F(hazard_pointers, bound_what_waits_also_while_they_protect) {
  constexpr int held = 100;
  std::vector<hazard_pointer> hazards;
  for (int i = 0; i < held; ++i) {
    hazards.push_back(make_hazard_pointer());
    auto* const object = new counted;
    hazards.back().reset_protection(object);
    object->retire();
  }
  int most = 0;
  for (int i = 0; i < 10'000; ++i) {
    (new counted)->retire();
    most = std::max(most, counted::alive.load());
  }
  EXPECT_LT(most, 2 * held + most_that_wait);
  EXPECT_GE(counted::alive.load(), held);
  hazards.clear();
  hazard_pointer_clean_up();
  EXPECT_EQ(counted::alive.load(), 0);
}

TEST_F(hazard_pointers, have_the_deleter_called_that_was_given) {
  struct with_state;
  struct note {
    int* where = nullptr;
    void operator()(with_state*) const { ++*where; }
  };
  struct with_state : hazard_pointer_obj_base<with_state, note> {};
  with_state object;
  int calls = 0;
  object.retire(note{&calls});
  hazard_pointer_clean_up();
  EXPECT_EQ(calls, 1);
}

TEST_F(hazard_pointers, ask_of_deleters_only_to_be_assigned) {
  int calls = 0;
  {
    assigned_only object;
    object.retire(assigning_deleter(calls));
    hazard_pointer_clean_up();
  }
  EXPECT_EQ(calls, 1);
}

TEST_F(hazard_pointers, leave_a_class_its_names) {
  auto* const object = new with_names;
  EXPECT_EQ(object->sum(), 15);
  std::atomic<with_names*> source{object};
  hazard_pointer hazard = make_hazard_pointer();
  ASSERT_EQ(hazard.protect(source), object);
  object->retire();
  hazard_pointer_clean_up();
  EXPECT_EQ(object->sum(), 15);
  hazard.reset_protection();
  hazard_pointer_clean_up();
}

TEST_F(hazard_pointers, reclaim_what_idle_threads_have_retired_once_there_is_much) {
  helper_thread idle;
  idle.call([] {
    for (int i = 0; i < 40; ++i) (new counted)->retire();
  });
  EXPECT_EQ(counted::alive.load(), 40);
  struct other : hazard_pointer_obj_base<other> {};
  for (int i = 0; i < most_that_wait; ++i) (new other)->retire();
  EXPECT_EQ(counted::alive.load(), 0);
}

TEST_F(hazard_pointers, reclaim_what_idle_threads_have_retired_once_it_is_long_ago) {
  helper_thread idle;
  idle.call([] { (new counted)->retire(); });
  EXPECT_EQ(counted::alive.load(), 1);
  hazard_pointer_limit_backlog({.nanoseconds = 0});
  struct other : hazard_pointer_obj_base<other> {};
  (new other)->retire();
  EXPECT_EQ(counted::alive.load(), 0);
}

// Counts its instances.
struct bulky : hazard_pointer_obj_base<bulky> {
  static inline std::atomic<int> alive{0};
  bulky() { alive.fetch_add(1); }
  ~bulky() { alive.fetch_sub(1); }
  char content[256 * 1024];
};

TEST_F(hazard_pointers, bound_the_bytes_that_wait) {
  int most = 0;
  for (int i = 0; i < 60; ++i) {
    (new bulky)->retire();
    most = std::max(most, bulky::alive.load());
  }
  EXPECT_LE(most, 5);  // 1 MiB and one more
  hazard_pointer_clean_up();
  EXPECT_EQ(bulky::alive.load(), 0);
}

TEST_F(hazard_pointers, bound_the_bytes_of_all_threads_together) {
  std::vector<std::unique_ptr<helper_thread>> threads;
  int most = 0;
  for (int i = 0; i < 20; ++i) {
    threads.push_back(std::make_unique<helper_thread>());
    threads.back()->call([] { (new bulky)->retire(); });
    most = std::max(most, bulky::alive.load());
  }
  EXPECT_LE(most, 5);
  hazard_pointer_clean_up();
  EXPECT_EQ(bulky::alive.load(), 0);
}

TEST_F(hazard_pointers, scan_as_seldom_when_what_is_protected_is_above_the_limit) {
  std::vector<hazard_pointer> hazards(8);
  make_hazard_pointer_batch(hazards);
  for (hazard_pointer& each : hazards) {
    auto* const object = new bulky;
    each.reset_protection(object);
    object->retire();
  }
  hazard_pointer_clean_up();
  EXPECT_EQ(bulky::alive.load(), 8);
  (new bulky)->retire();
  EXPECT_EQ(bulky::alive.load(), 9);
  clear_hazard_pointer_batch(hazards);
  hazard_pointer_clean_up();
  EXPECT_EQ(bulky::alive.load(), 0);
}

TEST_F(hazard_pointers, take_the_limit_that_is_set) {
  hazard_pointer_limit_backlog({.objects = 4096, .nanoseconds = ~std::uint64_t{0}});
  for (int i = 0; i < 4000; ++i) (new counted)->retire();
  EXPECT_EQ(counted::alive.load(), 4000);
  hazard_pointer_limit_backlog({.objects = 32, .nanoseconds = ~std::uint64_t{0}});
  for (int i = 0; i < 16; ++i) (new counted)->retire();
  EXPECT_LT(counted::alive.load(), 100);
  hazard_pointer_clean_up();
}

// --- Batches -------------------------------------------------------------------------------------

TEST_F(hazard_pointers, of_a_batch_are_made_and_cleared_together) {
  std::array<hazard_pointer, 20> batch;
  marked kept;
  batch[3] = make_hazard_pointer();
  batch[3].reset_protection(&kept);
  make_hazard_pointer_batch(batch);
  for (const hazard_pointer& each : batch) EXPECT_FALSE(each.empty());
  std::array<marked, 20> objects;
  for (std::size_t i = 0; i < 20; ++i) {
    if (i != 3) batch[i].reset_protection(&objects[i]);
  }
  kept.retire();
  for (marked& each : objects) each.retire();
  hazard_pointer_clean_up();
  // Those that were not empty stay as they were.
  EXPECT_EQ(kept.reclaimed, 0);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(objects[i].reclaimed, i == 3 ? 1 : 0);
  clear_hazard_pointer_batch(batch);
  for (const hazard_pointer& each : batch) EXPECT_TRUE(each.empty());
  hazard_pointer_clean_up();
  EXPECT_EQ(kept.reclaimed, 1);
  for (const marked& each : objects) EXPECT_EQ(each.reclaimed, 1);
}

// The deleter of each retires the next.
struct chained;
struct delete_chain {
  void operator()(chained* object) const;
};
struct chained : hazard_pointer_obj_base<chained, delete_chain> {
  static inline std::atomic<int> alive{0};
  static inline int depth = 0;
  static inline int deepest = 0;
  explicit chained(chained* following) : next(following) { alive.fetch_add(1); }
  ~chained() { alive.fetch_sub(1); }
  chained* next;
};
void delete_chain::operator()(chained* object) const {
  chained::deepest = std::max(chained::deepest, ++chained::depth);
  {
    hazard_pointer hazard = make_hazard_pointer();
    std::atomic<chained*> source{object->next};
    if (chained* const next = hazard.protect(source)) next->retire();
    hazard_pointer_clean_up();
  }
  delete object;
  --chained::depth;
}

TEST_F(hazard_pointers, have_deleters_that_retire_without_recursion) {
  constexpr int length = 10'000;
  chained* first = nullptr;
  for (int i = 0; i < length; ++i) first = new chained(first);
  first->retire();
  hazard_pointer_clean_up();
  EXPECT_EQ(chained::alive.load(), 0);
  EXPECT_EQ(chained::deepest, 1);
}

// A tree, each node of which retires its two children.
struct branching : hazard_pointer_obj_base<branching> {
  static inline std::atomic<int> alive{0};
  explicit branching(int height) {
    alive.fetch_add(1);
    if (height > 0) {
      for (branching*& child : children) child = new branching(height - 1);
    }
  }
  ~branching() {
    alive.fetch_sub(1);
    for (branching* child : children) {
      if (child != nullptr) child->retire();
    }
  }
  branching* children[2] = {};
};

TEST_F(hazard_pointers, lose_nothing_that_deleters_retire) {
  (new branching(12))->retire();
  hazard_pointer_clean_up();
  EXPECT_EQ(branching::alive.load(), 0);
}

// --- Threads that exit ---------------------------------------------------------------------------

TEST_F(hazard_pointers, reclaim_what_exited_threads_have_retired) {
  std::thread([] {
    for (int i = 0; i < 10; ++i) (new counted)->retire();
  }).join();
  EXPECT_EQ(counted::alive.load(), 10);
  hazard_pointer_clean_up();
  EXPECT_EQ(counted::alive.load(), 0);
}

TEST_F(hazard_pointers, take_over_what_exited_threads_have_retired_with_the_next_scan) {
  // In the record of a thread other than the one that scans.
  make_hazard_pointer();
  std::thread([] {
    for (int i = 0; i < 10; ++i) (new counted)->retire();
  }).join();
  struct other : hazard_pointer_obj_base<other> {};
  for (int i = 0; i < most_that_wait; ++i) (new other)->retire();
  EXPECT_EQ(counted::alive.load(), 0);
}

TEST_F(hazard_pointers, bound_what_short_lived_threads_leave) {
  int most = 0;
  for (int i = 0; i < 2 * most_that_wait; ++i) {
    std::thread([] { (new counted)->retire(); }).join();
    most = std::max(most, counted::alive.load());
  }
  EXPECT_LT(most, most_that_wait);
}

TEST_F(hazard_pointers, reclaim_what_other_threads_have_retired) {
  helper_thread other;
  other.call([] {
    for (int i = 0; i < 10; ++i) (new counted)->retire();
  });
  hazard_pointer_clean_up();
  EXPECT_EQ(counted::alive.load(), 0);
}

// The thread keeps the object on its own list, which others have to find.
TEST_F(hazard_pointers, reclaim_what_a_thread_kept_that_has_never_retired) {
  marked object;
  hazard_pointer hazard = make_hazard_pointer();
  hazard.reset_protection(&object);
  object.retire();
  helper_thread helper;
  helper.call([] { hazard_pointer_clean_up(); });
  EXPECT_EQ(object.reclaimed, 0);
  hazard.reset_protection();
  hazard_pointer_clean_up();
  EXPECT_EQ(object.reclaimed, 1);
}

// Retires, protects and scans after the library has seen the thread's exit.
TEST_F(hazard_pointers, serve_a_thread_past_its_exit) {
#if defined(READMOST_THREAD_SANITIZER)
  GTEST_SKIP() << "the sanitizer itself is done with the thread by then";
#endif
  static pthread_key_t key;
  static std::atomic<int> rounds{0};
  static std::atomic<bool> without_record{false};
  rounds = 0;
  const auto at_exit = [](void* value) {
    if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
      pthread_setspecific(key, value);
      return;
    }
    without_record = &my_record() == &unregistered;
    auto* const object = new counted(3);
    std::atomic<counted*> source{object};
    hazard_pointer hazard = make_hazard_pointer();
    hazard.protect(source);
    object->retire();
    hazard_pointer_clean_up();
    EXPECT_EQ(object->canary.load(), counted::living);
    for (int i = 0; i < most_that_wait; ++i) (new counted)->retire();
    EXPECT_EQ(object->canary.load(), counted::living);
    EXPECT_LT(counted::alive.load(), most_that_wait);
  };
  ASSERT_EQ(pthread_key_create(&key, at_exit), 0);
  for (int attempt = 0; attempt < 2; ++attempt) {
    rounds = 0;
    std::thread([&] {
      (new counted)->retire();
      pthread_setspecific(key, &key);
    }).join();
    EXPECT_TRUE(without_record.exchange(false));
  }
  pthread_key_delete(key);
  hazard_pointer_clean_up();
  EXPECT_EQ(counted::alive.load(), 0);
}

// --- Forks ---------------------------------------------------------------------------------------

TEST_F(hazard_pointers, in_a_child_reclaim_what_all_threads_had_retired) {
  helper_thread other;
  other.call([] {
    for (int i = 0; i < 10; ++i) (new counted)->retire();
  });
  (new counted)->retire();
  in_a_child([] {
    EXPECT_EQ(counted::alive.load(), 11);
    hazard_pointer_clean_up();
    EXPECT_EQ(counted::alive.load(), 0);
  });
  EXPECT_EQ(counted::alive.load(), 11);
  hazard_pointer_clean_up();
  EXPECT_EQ(counted::alive.load(), 0);
}

TEST_F(hazard_pointers, in_a_child_go_on_protecting) {
  marked object, of_other;
  hazard_pointer mine = make_hazard_pointer();
  mine.reset_protection(&object);
  helper_thread other;
  hazard_pointer theirs;
  other.call([&] {
    theirs = make_hazard_pointer();
    theirs.reset_protection(&of_other);
  });
  object.retire();
  of_other.retire();
  in_a_child([&] {
    hazard_pointer_clean_up();
    EXPECT_EQ(object.reclaimed, 0);
    EXPECT_EQ(of_other.reclaimed, 0);
    mine.reset_protection();
    theirs.reset_protection();
    hazard_pointer_clean_up();
    EXPECT_EQ(object.reclaimed, 1);
    EXPECT_EQ(of_other.reclaimed, 1);
  });
  mine.reset_protection();
  theirs.reset_protection();
  hazard_pointer_clean_up();
}

TEST_F(hazard_pointers, in_a_child_find_what_another_thread_was_scanning) {
  // The first of several deleters; it returns only after the fork.
  static std::atomic<bool> inside{false};
  static std::atomic<bool> forked{false};
  inside = forked = false;
  struct linger {
    void operator()(void*) const {
      inside = true;
      while (!forked.load()) std::this_thread::yield();
    }
  };
  struct lingering : hazard_pointer_obj_base<lingering, linger> {};
  static lingering slow;
  helper_thread other;
  other.begin([&] {
    for (int i = 0; i < 5; ++i) (new counted)->retire();
    slow.retire();
    hazard_pointer_clean_up();
  });
  ASSERT_TRUE(test::wait_until([] { return inside.load(); }));
  in_a_child([] {
    hazard_pointer_clean_up();
    EXPECT_EQ(counted::alive.load(), 0);
  });
  forked = true;
  EXPECT_EQ(other.end(), 0);
  EXPECT_EQ(counted::alive.load(), 0);
}

TEST_F(hazard_pointers, in_a_child_lack_at_most_what_a_thread_had_in_hand) {
  // More objects make longer lists, and thus a fork in the middle of moving them more likely.
  std::vector<hazard_pointer> many(4096);
  for (hazard_pointer& each : many) each = make_hazard_pointer();
  test::fork_stress<hazard_pointer_obj_base>::run(300, [] { hazard_pointer_clean_up(); });
}

// --- All at once ---------------------------------------------------------------------------------

TEST_F(hazard_pointers, protect_against_writers_that_replace_an_object_all_the_time) {
  std::atomic<counted*> source{new counted(1)};
  std::atomic<bool> stop{false};
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int reader = 0; reader < 3; ++reader) {
    threads.emplace_back([&, reader] {
      hazard_pointer own = make_hazard_pointer();
      for (int i = 0; !stop.load(std::memory_order_relaxed); ++i) {
        hazard_pointer fresh;
        if (reader == 1) fresh = make_hazard_pointer();
        hazard_pointer& hazard = reader == 1 ? fresh : own;
        const counted* const found = hazard.protect(source);
        for (int look = 0; look < 10; ++look) {
          if (found->canary.load(std::memory_order_relaxed) != counted::living) ++failures;
        }
        if (reader == 2 && i % 64 == 0) readmost::offline();
        if (i % 16 == 0) hazard.reset_protection();
      }
    });
  }
  std::vector<std::thread> writers;
  for (int writer = 0; writer < 2; ++writer) {
    writers.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) source.exchange(new counted(i))->retire();
    });
  }
  for (std::thread& each : writers) each.join();
  stop = true;
  for (std::thread& each : threads) each.join();
  source.exchange(nullptr)->retire();
  EXPECT_EQ(failures.load(), 0);
  hazard_pointer_clean_up();
  EXPECT_EQ(counted::alive.load(), 0);
}

TEST_F(hazard_pointers, make_a_stack_whose_nodes_are_reclaimed) {
  struct node : hazard_pointer_obj_base<node> {
    explicit node(std::uint64_t content) : value(content) {}
    ~node() { value = ~std::uint64_t{0}; }
    std::uint64_t value;
    node* next = nullptr;
  };
  std::atomic<node*> top{nullptr};
  const auto push = [&](std::uint64_t value) {
    auto* const fresh = new node(value);
    fresh->next = top.load(std::memory_order_relaxed);
    while (!top.compare_exchange_weak(fresh->next, fresh, std::memory_order_release,
                                      std::memory_order_relaxed)) {
    }
  };
  const auto pop = [&](hazard_pointer& hazard, std::uint64_t& value) {
    node* found;
    do {
      found = hazard.protect(top);
      if (found == nullptr) return false;
      // Unprotected, `found` could be reused and be on top again with another `next` (ABA).
    } while (!top.compare_exchange_strong(found, found->next, std::memory_order_acquire,
                                          std::memory_order_relaxed));
    value = found->value;
    hazard.reset_protection();
    found->retire();
    return true;
  };
  constexpr std::uint64_t each = 20'000;
  constexpr std::uint64_t pairs = 3;
  std::atomic<std::uint64_t> sum{0}, popped{0};
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < pairs; ++t) {
    threads.emplace_back([&, t] {
      hazard_pointer hazard = make_hazard_pointer();
      for (std::uint64_t i = 0; i < each; ++i) {
        push(t * each + i);
        std::uint64_t value = 0;
        if (pop(hazard, value)) {
          sum.fetch_add(value);
          popped.fetch_add(1);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  hazard_pointer hazard = make_hazard_pointer();
  for (std::uint64_t value = 0; pop(hazard, value);) {
    sum.fetch_add(value);
    popped.fetch_add(1);
  }
  constexpr std::uint64_t all = each * pairs;
  EXPECT_EQ(popped.load(), all);
  EXPECT_EQ(sum.load(), all * (all - 1) / 2);
  hazard_pointer_clean_up();
}

}  // namespace
