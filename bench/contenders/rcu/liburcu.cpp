// SPDX-License-Identifier: Apache-2.0
// One flavor of liburcu, which BENCH_URCU_HEADER, BENCH_URCU_NAME and BENCH_URCU_MAKE choose. Used
// as its manual demands: threads registered, read sections inline, threads of QSBR offline while
// they wait.
#include "contenders/rcu/side_of.hpp"
#include "contenders/rcu/sides.hpp"
// clang-format off: last, since some of its names are macros.
#include "contenders/rcu/liburcu_flavor.hpp"
// clang-format on

namespace bench {

namespace {

struct liburcu {
  static constexpr const char* name = BENCH_URCU_NAME;
  using reader = section_reader<urcu::section>;

  struct object {
    rcu_head head;
    retired_load load;

    void retire() {
      call_rcu(&head, [](rcu_head* of) {
        auto* const self = caa_container_of(of, object, head);
        if (self->load.reclaimed != nullptr) (*self->load.reclaimed)();
        delete self;
      });
    }
  };

  static void begin_thread() { rcu_register_thread(); }
  static void end_thread() { rcu_unregister_thread(); }
  static void quiescent() { rcu_quiescent_state(); }
  static void pause() { rcu_thread_offline(); }
  static void resume() { rcu_thread_online(); }
  static void synchronize() { synchronize_rcu(); }
  static void barrier() { rcu_barrier(); }
};

}  // namespace

std::unique_ptr<rcu_flavor> BENCH_URCU_MAKE() {
  return std::make_unique<rcu_flavor_of<liburcu>>();
}

}  // namespace bench
