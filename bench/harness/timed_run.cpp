// SPDX-License-Identifier: Apache-2.0
#include "harness/timed_run.hpp"

#include <numeric>
#include <utility>

namespace bench {

std::uint64_t timed_outcome::sum(std::size_t first, std::size_t last) const {
  const auto begin = counts.begin();
  return std::accumulate(begin + static_cast<std::ptrdiff_t>(first),
                         begin + static_cast<std::ptrdiff_t>(last), std::uint64_t{0});
}

working_threads::working_threads(std::vector<timed_body> bodies)
    : bodies_(std::move(bodies)), ready_(static_cast<std::ptrdiff_t>(bodies_.size()) + 1) {
  outcome_.counts.resize(bodies_.size());
  try {
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      threads_.emplace_back([this, i] { work(i); });
    }
  } catch (...) {
    // A thread could not be started: release those that wait for it.
    stopped_ = true;
    ready_.count_down(static_cast<std::ptrdiff_t>(bodies_.size() - threads_.size()) + 1);
    throw;
  }
  ready_.arrive_and_wait();
  begin_ = clock::now();
}

void working_threads::work(std::size_t thread) {
  ready_.arrive_and_wait();
  try {
    outcome_.counts[thread] = bodies_[thread](stopped_);
  } catch (...) {
    const std::lock_guard guard(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
    failed_.notify_all();
  }
}

void working_threads::work_for(std::chrono::nanoseconds time) {
  std::unique_lock guard(failure_mutex_);
  failed_.wait_until(guard, begin_ + time, [this] { return failure_ != nullptr; });
}

timed_outcome working_threads::stop() {
  outcome_.seconds = std::chrono::duration<double>(clock::now() - begin_).count();
  end();
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return outcome_;
}

void working_threads::end() {
  stopped_.store(true, std::memory_order_relaxed);
  threads_.clear();
}

timed_outcome run_together(std::vector<timed_body> bodies, std::chrono::nanoseconds time) {
  working_threads threads(std::move(bodies));
  threads.work_for(time);
  return threads.stop();
}

}  // namespace bench
