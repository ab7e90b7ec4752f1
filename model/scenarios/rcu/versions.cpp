// SPDX-License-Identifier: Apache-2.0
// The global version number: threads that read in several steps against threads that update.
#include <readmost/rcu_version.hpp>

#include "scenarios/rcu/containers.hpp"

namespace readmost::model {

namespace {

struct pair {
  platform::atomic<std::uint32_t> left{0};
  platform::atomic<std::uint32_t> right{0};
};
using versioned_pair = rcu_versioned<pair>;

versioned_pair& make_pair(scenario& s) {
  begin_rcu(s);
  return s.make<versioned_pair>("pair");
}

std::uint32_t difference(const pair& now) {
  const std::uint32_t left = now.left.load(platform::relaxed);
  return left - now.right.load(platform::relaxed);
}

void add_one_to_both(pair& now) {
  now.left.store(now.left.load(platform::relaxed) + 1, platform::relaxed);
  now.right.store(now.right.load(platform::relaxed) + 1, platform::relaxed);
}

void add_reader(scenario& s, const versioned_pair& of, unsigned patience) {
  s.thread("reader", be_online, [&of, patience] {
    unsigned calls = 0;
    const std::uint32_t found = of.read(
        [&calls](const pair& now) {
          ++calls;
          return difference(now);
        },
        patience);
    expect(found == 0, "a reader sees half an update");
    expect(calls <= patience + 1, "a reader that holds updates off succeeds at once");
  });
}

void add_writer(scenario& s, versioned_pair& of, const char* name, unsigned updates) {
  s.thread(name, be_known, [&of, updates] {
    for (unsigned left = updates; left != 0; --left) of.update(add_one_to_both);
  });
}

}  // namespace

SCENARIO(versioned_read_against_update, "a reader never sees half an update", effort::small) {
  auto& data = make_pair(s);
  add_reader(s, data, versioned_pair::usual_patience);
  add_writer(s, data, "writer", 1);
}

SCENARIO(versioned_read_after_update, "what a reader finds under a new number is as new as it",
         effort::small) {
  auto& data = make_pair(s);
  auto& done = s.make<signal>("done");
  s.thread("reader", be_online, [&] {
    const bool expected = done.given();
    const auto found = data.read([](const pair& now) { return now.left.load(platform::relaxed); });
    expect(!expected || found == 1, "a reader finds an update that was over before it began");
  });
  s.thread("writer", be_known, [&] {
    data.update(add_one_to_both);
    done.give();
  });
}

SCENARIO(versioned_read_of_plain_data,
         "a reader finds complete what an update has published by a relaxed store", effort::small) {
  begin_rcu(s);
  struct cell {
    platform::atomic<const guarded*> to{nullptr};
  };
  auto& data = s.make<rcu_versioned<cell>>("cell");
  auto& fresh = s.make<guarded>("fresh");
  s.thread("reader", be_online, [&] {
    const guarded* const found =
        data.read([](const cell& now) { return now.to.load(platform::relaxed); });
    if (found != nullptr) found->read();
  });
  s.thread("writer", be_known, [&] {
    fresh.write();
    data.update([&](cell& now) { now.to.store(&fresh, platform::relaxed); });
  });
}

SCENARIO(versioned_reader_holds_updates_off,
         "a reader without patience calls its function once, however many updates come",
         effort::small) {
  auto& data = make_pair(s);
  add_reader(s, data, 0);
  add_writer(s, data, "writer", 2);
}

SCENARIO(versioned_reader_stalls_after_a_failure,
         "a reader that failed holds updates off, and writers go on afterwards", effort::large) {
  auto& data = make_pair(s);
  add_reader(s, data, 1);
  add_writer(s, data, "writer", 2);
  add_writer(s, data, "other writer", 1);
  s.finally([&] {
    expect(data.read([](const pair& now) { return now.right.load(platform::relaxed); }) == 3,
           "no update is lost");
    expect_no_sections_left();
  });
}

SCENARIO(versioned_two_readers_stall, "writers sleep until the last reader lets them go on",
         effort::large) {
  auto& data = make_pair(s);
  add_reader(s, data, 0);
  add_reader(s, data, 0);
  add_writer(s, data, "writer", 1);
}

}  // namespace readmost::model
