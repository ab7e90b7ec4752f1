// BRAVO over other locks: those that the benchmarks compare.
#pragma once

#include <mutex>
#include <readmost/bravo.hpp>
#include <readmost/shared_mutex.hpp>
#include <rivals/pf_q.hpp>

#include "pthread_lock.hpp"

namespace bench {

// Calls use.operator()<Lock>(name) for each of them.
template <class Use>
void for_each_bravo_lock(Use use) {
  using readmost::bravo;
  use.template operator()<bravo<pthread_lock>>("bravo-pthread");
  use.template operator()<bravo<rivals::pf_q>>("bravo-ba");
  use.template operator()<bravo<readmost::shared_mutex>>("bravo-prwlock");
  use.template operator()<bravo<std::mutex>>("bravo-mutex");
  use.template operator()<bravo<pthread_lock, readmost::bravo_consensus_policy>>("bravo-consensus");
}

}  // namespace bench
