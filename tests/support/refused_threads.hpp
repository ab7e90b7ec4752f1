// SPDX-License-Identifier: Apache-2.0
// Makes the system refuse threads, while it lives: there is no room for a stack. Not under
// sanitizers, whose memory is larger than the room.
#pragma once

#include <pthread.h>
#include <sys/resource.h>

#include <cstddef>

namespace test {

class refused_threads {
 public:
  refused_threads() {
    pthread_attr_init(&large_);
    pthread_attr_init(&before_);
    pthread_getattr_default_np(&before_);
    pthread_attr_setstacksize(&large_, std::size_t{1} << 40);
    pthread_setattr_default_np(&large_);
    getrlimit(RLIMIT_AS, &limit_);
    const rlimit tight{rlim_t{1} << 39, limit_.rlim_max};
    setrlimit(RLIMIT_AS, &tight);
  }
  refused_threads(const refused_threads&) = delete;
  refused_threads& operator=(const refused_threads&) = delete;
  ~refused_threads() {
    setrlimit(RLIMIT_AS, &limit_);
    pthread_setattr_default_np(&before_);
  }

 private:
  pthread_attr_t large_, before_;
  rlimit limit_;
};

}  // namespace test
