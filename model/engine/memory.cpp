// SPDX-License-Identifier: Apache-2.0
#include "engine/memory.hpp"

#include "engine/execution.hpp"

namespace readmost::model {

void memory::footprint_of(const simulated_thread& who, const operation& what,
                          footprint& made) const {
  made.thread = static_cast<std::uint8_t>(who.number);
  made.where = what.where;
  switch (what.what) {
    case kind::load:
      made.reads = true;
      break;
    case kind::store:
      made.writes = true;
      break;
    case kind::update:
    case kind::compare:
      made.reads = made.updates = made.writes = true;
      break;
    case kind::retire:
      made.writes = made.retires = true;
      break;
    case kind::futex_wait:
      made.reads = true;
      made.queue = what.where;
      break;
    case kind::awake:
    case kind::futex_wake:
      made.where = nullptr;
      if (what.what == kind::futex_wake || !who.woken) made.queue = what.where;
      break;
    default:
      break;
  }
}

}  // namespace readmost::model
