// SPDX-License-Identifier: Apache-2.0
// Mark Obsolete Objects (RCU 4.2.1, 5.1): semaphores in an array, as in System V IPC. Each has a
// lock of its own; the array is mostly read. Now and then a semaphore is removed and another one
// created.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <readmost/rcu_existence.hpp>
#include <shared_mutex>

#include "form.hpp"
#include "twin_counter.hpp"

namespace examples::semaphores {

inline constexpr std::uint32_t numbers = 64;

// A semaphore stays while its user holds the array's lock.
class before {
 public:
  before() {
    for (auto& each : array_) each = std::make_unique<semaphore>();
  }

  void read(xorshift& random) {
    const std::uint32_t number = any_of(numbers, random);
    const std::shared_lock array_guard{mutex_};
    semaphore& found = *array_[number];
    const std::lock_guard guard{found.mutex};
    found.count.increment();
  }

  void write(xorshift& random) {
    const std::uint32_t number = any_of(numbers, random);
    auto semaphore_ = std::make_unique<semaphore>();
    const std::unique_lock array_guard{mutex_};
    array_[number].swap(semaphore_);
    removed_ += semaphore_->count.value();
  }

  void check(std::uint64_t reads, std::uint64_t) {
    reads -= removed_;
    for (const auto& each : array_) reads -= each->count.value();
    require(reads == 0, "an operation is lost");
  }

 private:
  struct alignas(64) semaphore {
    std::mutex mutex;
    twin_counter count;
  };

  std::shared_mutex mutex_;
  std::array<std::unique_ptr<semaphore>, numbers> array_;
  std::uint64_t removed_ = 0;
};

// A semaphore that was removed after it was found is marked; its user then looks again.
class after {
 public:
  after() {
    for (auto& each : array_) each = new semaphore;
  }
  ~after() {
    for (auto& each : array_) delete each.load();
  }

  void read(xorshift& random) { find(any_of(numbers, random))->count.increment(); }

  void write(xorshift& random) {
    const std::uint32_t number = any_of(numbers, random);
    auto* const fresh = new semaphore;
    auto old = find(number);
    array_[number].store(fresh, std::memory_order_release);
    removed_.fetch_add(old->count.value(), std::memory_order_relaxed);
    old.make_obsolete()->retire();
  }

  void check(std::uint64_t reads, std::uint64_t) {
    reads -= removed_.load();
    for (const auto& each : array_) reads -= each.load()->count.value();
    require(reads == 0, "an operation is lost");
  }

 private:
  struct alignas(64) semaphore : readmost::rcu_existence_lock, readmost::rcu_obj_base<semaphore> {
    twin_counter count;
  };

  readmost::rcu_existing<semaphore> find(std::uint32_t number) {
    return readmost::rcu_lock_existing(
        [&] { return array_[number].load(std::memory_order_acquire); });
  }

  std::array<std::atomic<semaphore*>, numbers> array_;
  std::atomic<std::uint64_t> removed_{0};
};

}  // namespace examples::semaphores
