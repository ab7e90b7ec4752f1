// SPDX-License-Identifier: Apache-2.0
// Global Version Number (RCU 4.2.4): a directory of files, of which some are moved and some
// replaced by a new revision. Its size is that of all of them, however they are moved meanwhile.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <readmost/rcu_pointer.hpp>
#include <readmost/rcu_version.hpp>
#include <shared_mutex>
#include <utility>

#include "form.hpp"

namespace examples::directory {

struct file {
  std::uint32_t size = 1;
  std::uint32_t number = 0;  // of its revision
};

inline constexpr std::uint32_t slots = 16;

// Every second slot has a file at first. `file_in` gives the file of a slot, or null.
template <class Directory, class FileIn>
std::uint32_t size_of(const Directory& directory, FileIn file_in) {
  std::uint32_t sum = 0;
  for (const auto& slot : directory) {
    if (const file* found = file_in(slot)) sum += found->size;
  }
  return sum;
}
inline void check_size(std::uint32_t found) {
  require(found == slots / 2, "a reader missed a file, or saw one twice, or one that was deleted");
}

// A slot that a reader meets much earlier or later.
inline std::uint32_t opposite(std::uint32_t place) {
  return place ^ (slots / 2);
}

class before {
 public:
  before() {
    for (std::size_t i = 0; i < slots; i += 2) slots_[i] = std::make_unique<file>();
  }

  void read(xorshift&) {
    const std::shared_lock guard{mutex_};
    check_size(size());
  }

  void write(xorshift& random) {
    const std::uint32_t place = any_of(slots, random);
    auto fresh = std::make_unique<file>();
    const std::unique_lock guard{mutex_};
    auto& from = slots_[place];
    from.swap(slots_[opposite(place)]);
    if (from != nullptr) {
      fresh->number = from->number + 1;
      from.swap(fresh);
    }
  }

  void check(std::uint64_t, std::uint64_t) { check_size(size()); }

 private:
  std::uint32_t size() const {
    return size_of(slots_, [](const auto& slot) { return slot.get(); });
  }

  std::shared_mutex mutex_;
  std::array<std::unique_ptr<file>, slots> slots_;
};

class after {
 public:
  after() {
    directory_.update([](directory& now) {
      for (std::size_t i = 0; i < slots; i += 2) now[i].assign(std::make_unique<revision>());
    });
  }

  void read(xorshift&) { check_size(size()); }

  void write(xorshift& random) {
    const std::uint32_t place = any_of(slots, random);
    auto fresh = std::make_unique<revision>();
    revision* const old = directory_.update([&](directory& now) -> revision* {
      auto& from = now[place];
      owner moved(from.exchange(nullptr));
      owner back(now[opposite(place)].exchange(std::move(moved)));
      if (back == nullptr) return nullptr;
      fresh->number = back->number + 1;
      static_cast<void>(from.exchange(std::move(fresh)));  // there is none
      return back.release();
    });
    if (old != nullptr) old->retire();
  }

  void check(std::uint64_t, std::uint64_t) { check_size(size()); }

 private:
  struct revision : file, readmost::rcu_obj_base<revision> {};
  using owner = std::unique_ptr<revision>;
  using directory = std::array<readmost::rcu_pointer<revision>, slots>;

  std::uint32_t size() const {
    return directory_.read([](const directory& now) {
      return size_of(now, [](const auto& slot) { return slot.load(); });
    });
  }

  readmost::rcu_versioned<directory> directory_;
};

}  // namespace examples::directory
