// SPDX-License-Identifier: Apache-2.0
#include "catalogue.hpp"
#include "pthread_lock.hpp"
#include "scenarios.hpp"

namespace torture {

void add_pthread_scenarios(catalogue& all) {
  add_scenarios<pthread_lock<PTHREAD_RWLOCK_PREFER_READER_NP>>(all, "pthread");
  add_scenarios<pthread_lock<PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP>>(all, "pthread-writer");
}

}  // namespace torture
