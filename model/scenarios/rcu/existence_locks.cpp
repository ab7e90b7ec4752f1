// SPDX-License-Identifier: Apache-2.0
// Existence locks: threads that find an object under RCU and lock it against threads that remove
// it.
#include <readmost/rcu_existence.hpp>

#include "scenarios/rcu/containers.hpp"

namespace readmost::model {

namespace {

struct session;
struct end_of_session {
  void operator()(session* old) const noexcept;
};
struct session : rcu_existence_lock, rcu_obj_base<session, end_of_session> {
  explicit session(guarded& of) : data(of) {}
  guarded& data;  // protected by the lock
  platform::variable<bool> is_in_table{true};
};
void end_of_session::operator()(session* old) const noexcept {
  old->~session();
}

// A table of one session.
struct table {
  platform::atomic<session*> only;

  rcu_existing<session> find() {
    return rcu_lock_existing([this] { return only.load(platform::acquire); });
  }
  void use() {
    const auto found = find();
    if (!found) return;
    expect(found->is_in_table, "an object that is locked has not been removed");
    found->data.write();
  }
  // Puts `successor` into its place, or nothing.
  void remove(session* successor = nullptr) {
    auto found = find();
    if (!found) return;
    only.store(successor, platform::release);
    found->is_in_table = false;
    found.make_obsolete()->retire();
  }
};

session& make_session(scenario& s) {
  return s.make<session>("session", s.make<guarded>("data"));
}
table& begin_with_table(scenario& s) {
  begin_containers(s);
  return s.make<table>("table", &make_session(s));
}

void end_by_reclaiming(scenario& s) {
  s.finally([] {
    reclaim_all_retired();
    expect_no_sections_left();
  });
}

}  // namespace

SCENARIO(existence_lock_against_removal,
         "an object that is locked exists and has not been removed, or is not found",
         effort::medium) {
  auto& sessions = begin_with_table(s);
  s.thread("user", be_online, [&] { sessions.use(); });
  s.thread("remover", be_known, [&] {
    sessions.remove();
    reclaim_all_retired();
  });
}

SCENARIO(existence_lock_of_successor,
         "a thread whose object was removed before it had the lock finds its successor",
         effort::small) {
  auto& sessions = begin_with_table(s);
  auto& successor = make_session(s);
  s.thread("user", be_online, [&] {
    const auto found = sessions.find();
    expect(static_cast<bool>(found), "there is an object at all times");
    found->data.write();
  });
  s.thread("remover", be_known, [&] { sessions.remove(&successor); });
  end_by_reclaiming(s);
}

SCENARIO(existence_lock_of_two_users, "two threads that find one object have it one by one",
         effort::small) {
  auto& sessions = begin_with_table(s);
  for (const char* name : {"user", "other user"}) {
    s.thread(name, be_online, [&] { sessions.use(); });
  }
}

SCENARIO(existence_lock_of_two_removers, "of two threads that remove an object one retires it",
         effort::small) {
  auto& sessions = begin_with_table(s);
  for (const char* name : {"remover", "other remover"}) {
    s.thread(name, be_online, [&] { sessions.remove(); });
  }
  end_by_reclaiming(s);
}

}  // namespace readmost::model
