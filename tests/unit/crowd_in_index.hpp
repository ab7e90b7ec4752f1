// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latch>
#include <readmost/detail/threads/domain.hpp>
#include <thread>
#include <vector>

namespace readmost::detail::test {

// That many threads that are online, until the end. They do nothing.
class crowd_in_index {
 public:
  explicit crowd_in_index(int size) : in_(size), records_(static_cast<std::size_t>(size)) {
    for (thread_record*& record : records_) {
      threads_.emplace_back([this, &record] {
        record = enlist();
        if (record != nullptr) come_online(*record);
        in_.count_down();
        out_.wait();
      });
    }
    in_.wait();
  }
  ~crowd_in_index() {
    out_.count_down();
    for (std::thread& thread : threads_) thread.join();
  }

  const std::vector<thread_record*>& records() const { return records_; }

 private:
  std::latch in_;
  std::latch out_{1};
  std::vector<thread_record*> records_;
  std::vector<std::thread> threads_;
};

}  // namespace readmost::detail::test
