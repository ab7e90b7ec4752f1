// A process with more than one thread.
#pragma once

#include <latch>
#include <thread>

namespace bench {

// While a process has one thread only, glibc leaves the atomics out of its mutexes, which nobody
// needs there: locks that are made of them would be measured without what they cost.
class second_thread {
 public:
  ~second_thread() { over_.count_down(); }

 private:
  std::latch over_{1};
  std::jthread thread_{[this] { over_.wait(); }};
};

}  // namespace bench
