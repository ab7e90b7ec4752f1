// SPDX-License-Identifier: Apache-2.0
#include "threads/registry.hpp"

namespace readmost::detail {

present_walk::present_walk(domain& d, const thread_record* but, fetched what) noexcept
    : entries_(d), but_(but), what_(what) {
  enter_chunk();
  settle();
}

void present_walk::next() noexcept {
  left_ &= left_ - 1;
  if (fetched_ != 0) --fetched_;
  fetch();
  settle();
}

void present_walk::fetch() noexcept {
  const std::uint32_t ahead = what_ == fetched::slots_too ? lines_ahead / 2 : lines_ahead;
  for (; fetched_ < ahead && unfetched_ != 0; ++fetched_) {
    const thread_record& record = lowest(unfetched_);
    platform::prefetch(&record.seen);
    if (what_ == fetched::slots_too) platform::prefetch(&record.held);
    unfetched_ &= unfetched_ - 1;
  }
}

// Goes on to the first record that is left and is not `but`.
void present_walk::settle() noexcept {
  for (; entries_.records() != nullptr; entries_.next(), enter_chunk(), fetch()) {
    for (; left_ != 0; left_ &= left_ - 1) {
      record_ = &lowest(left_);
      if (record_ != but_) return;
    }
  }
  record_ = nullptr;
}

void present_walk::enter_chunk() noexcept {
  if (entries_.records() == nullptr) return;
  // (R8) Pairs with (T3) in consensus.cpp: the sections of threads that have left the index happen
  // before this.
  left_ = entries_.entry().present.load(at(letter::R8, platform::acquire));
  unfetched_ = left_ & (left_ - 1);
  fetched_ = 0;
}

}  // namespace readmost::detail
