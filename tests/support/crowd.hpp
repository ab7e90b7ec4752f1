// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <readmost/detail/platform/platform.hpp>
#include <readmost/shared_mutex.hpp>
#include <vector>

#include "support/helper_thread.hpp"
#include "threads/registry.hpp"

namespace test {

inline bool threads_have_cpus() {
  using namespace readmost::detail;
  return threads_in(chunk_of(my_record())) <= platform::usable_cpus();
}

// More threads that use locks than there are CPUs.
class crowd {
 public:
  crowd() {
    readmost::shared_mutex mutex;
    for (unsigned i = 0; i <= readmost::detail::platform::usable_cpus(); ++i) {
      threads_.push_back(std::make_unique<helper_thread>());
      threads_.back()->call([&] {
        mutex.lock_shared();
        mutex.unlock_shared();
      });
    }
  }

 private:
  std::vector<std::unique_ptr<helper_thread>> threads_;
};

}  // namespace test
