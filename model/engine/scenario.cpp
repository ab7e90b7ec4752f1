#include "engine/scenario.hpp"

namespace readmost::model {

void scenario::exits_at_once() {
  run_.thread(run_.thread_count() - 1).exits_at_once = true;
}

}  // namespace readmost::model
