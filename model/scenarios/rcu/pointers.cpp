// SPDX-License-Identifier: Apache-2.0
// Pointers that readers of RCU share: threads that load one against threads that replace its
// object.
#include <memory>
#include <readmost/rcu_pointer.hpp>

#include "scenarios/rcu/containers.hpp"

namespace readmost::model {

namespace {

struct config : rcu_obj_base<config>, platform::heap_object {
  explicit config(std::uint32_t number) : data(number) {}
  content data;
};
// Retiring one allocates.
struct plain_config : platform::heap_object {
  explicit plain_config(std::uint32_t number) : data(number) {}
  content data;
};

template <class T>
rcu_pointer<T>& make_pointer(scenario& s) {
  begin_containers(s);
  return s.make<rcu_pointer<T>>("current", std::make_unique<T>(1));
}

template <class T>
void add_reader(scenario& s, const rcu_pointer<T>& from) {
  s.thread("reader", be_online, [&from] {
    const std::scoped_lock section(rcu_default_domain());
    from.load()->data.read();
  });
}

template <class T>
void assign_to(rcu_pointer<T>& to, std::uint32_t number) {
  to.assign(std::make_unique<std::remove_const_t<T>>(number));
}

template <class T>
void end_by_reclaiming(scenario& s, rcu_pointer<T>& of) {
  s.finally([&of] {
    reclaim_all_retired();
    destroy(of);
    expect_no_sections_left();
  });
}

}  // namespace

SCENARIO(pointer_loaded_while_assigned,
         "a load finds a complete object, which is not deleted inside the section",
         effort::medium) {
  auto& current = make_pointer<config>(s);
  add_reader(s, current);
  s.thread("writer", be_known, [&current] {
    assign_to(current, 2);
    reclaim_all_retired();
  });
}

SCENARIO(pointer_loaded_while_assigned_with_allocation,
         "a load finds a complete object, although its retirement allocates", effort::small) {
  auto& current = make_pointer<const plain_config>(s);
  add_reader(s, current);
  s.thread("writer", be_known, [&current] { assign_to(current, 2); });
  end_by_reclaiming(s, current);
}

SCENARIO(pointer_assigned_by_two,
         "a thread that retires an object which another has assigned finds it complete",
         effort::small) {
  auto& current = make_pointer<config>(s);
  for (const char* name : {"writer", "other writer"}) {
    s.thread(name, be_known, [&current] { assign_to(current, 2); });
  }
  end_by_reclaiming(s, current);
}

SCENARIO(pointer_updated_by_two,
         "updates of two threads are both in the object, which a reader finds complete",
         effort::medium) {
  auto& current = make_pointer<plain_config>(s);
  add_reader(s, current);
  for (const char* name : {"writer", "other writer"}) {
    s.thread(name, be_known, [&current] {
      current.renew([](const plain_config& old) {
        return std::make_unique<plain_config>(old.data.read() + 1);
      });
    });
  }
  s.finally([&current] {
    {
      const std::scoped_lock section(rcu_default_domain());
      expect(current.load()->data.read() == 3, "an update is lost");
    }
    reclaim_all_retired();
    destroy(current);
    expect_no_sections_left();
  });
}

SCENARIO(pointer_dereferenced_while_assigned,
         "the functions: a thread that dereferences a pointer finds a complete object",
         effort::small) {
  begin_containers(s);
  auto& first = s.make<config>("first", 1U);
  auto& current = s.make<platform::atomic<config*>>("current", &first);
  s.thread("reader", be_online, [&current] {
    const std::scoped_lock section(rcu_default_domain());
    rcu_dereference(current)->data.read();
  });
  s.thread("writer", be_known, [&current] { rcu_assign_pointer(current, new config(2)); });
}

}  // namespace readmost::model
