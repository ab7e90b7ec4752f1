// SPDX-License-Identifier: Apache-2.0
// Uses every class, function template and member that is compiled only where it is used; all of
// them must link with the shared library.
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <readmost/asymmetric_thread_fence.hpp>
#include <readmost/bravo.hpp>
#include <readmost/hazard_pointer.hpp>
#include <readmost/id_table.hpp>
#include <readmost/lock_domain.hpp>
#include <readmost/rcu.hpp>
#include <readmost/rcu_existence.hpp>
#include <readmost/rcu_hash_map.hpp>
#include <readmost/rcu_hlist.hpp>
#include <readmost/rcu_list.hpp>
#include <readmost/rcu_pointer.hpp>
#include <readmost/rcu_stack.hpp>
#include <readmost/rcu_version.hpp>
#include <readmost/shared_mutex.hpp>
#include <readmost/shared_timed_mutex.hpp>
#include <span>

template class readmost::bravo<std::mutex>;
template class readmost::bravo<std::mutex, readmost::bravo_consensus_policy>;
template class readmost::detail::basic_shared_timed_mutex<readmost::detail::in_default_domain>;
template class readmost::detail::basic_shared_timed_mutex<readmost::detail::in_own_domain>;
template class readmost::id_table<int>;
template class readmost::id_table<int, readmost::shared_mutex>;
template class readmost::rcu_hash_map<int, int>;
template class readmost::rcu_hlist<readmost::rcu_hlist_hook>;
template class readmost::rcu_hlist<readmost::rcu_hlist_hook, nullptr, readmost::rcu_in_domain>;
template class readmost::rcu_list<readmost::rcu_list_hook>;
template class readmost::rcu_existing<readmost::rcu_existence_lock>;
template class readmost::rcu_pointer<int>;
template class readmost::rcu_stack<readmost::rcu_stack_hook>;
template class readmost::rcu_stack<readmost::rcu_stack_hook, readmost::rcu_in_domain>;
template class readmost::rcu_versioned<int>;
template class readmost::rcu_versioned<int, readmost::rcu_in_domain>;
template class readmost::rcu_list<readmost::rcu_list_hook, nullptr, readmost::rcu_in_domain>;
template class readmost::rcu_pointer<int, std::default_delete<int>, readmost::rcu_in_domain>;

namespace {

using namespace std::chrono_literals;

template <class Clock, class Lock>
bool with_deadlines(Lock& lock) {
  const auto end = Clock::now() + 1s;
  if (lock.try_lock_until(end)) lock.unlock();
  if (lock.try_lock_for(1s)) lock.unlock();
  if (!lock.try_lock_shared_for(1s)) return false;
  const bool alone = lock.try_upgrade_until(end);
  if (alone) lock.downgrade();
  if (!lock.try_lock_shared_until(end)) return false;
  lock.unlock_shared();
  lock.unlock_shared();
  return alone;
}

template <class Lock>
bool all_of(Lock& lock) {
  return with_deadlines<std::chrono::steady_clock>(lock) &&
         with_deadlines<std::chrono::system_clock>(lock);
}

}  // namespace

bool every_member() {
  readmost::online();
  readmost::offline();
  readmost::lock_domain domain;
  domain.online();
  domain.offline();
  readmost::shared_timed_mutex lock(readmost::preference::phase_fair);
  readmost::domain_shared_mutex lock_in_domain(domain);
  return all_of(lock) && all_of(lock_in_domain);
}

namespace {

struct element : readmost::hazard_pointer_obj_base<element> {};

void all_of_hazard_pointers(const std::atomic<element*>& source) {
  readmost::hazard_pointer hazard = readmost::make_hazard_pointer();
  element* found = hazard.protect(source);
  if (hazard.try_protect(found, source)) hazard.reset_protection(found);
  (new element)->retire();
  readmost::hazard_pointer_clean_up();
  readmost::hazard_pointer_limit_backlog({});
  readmost::hazard_pointer_reclaim_by(readmost::reclaiming::in_place);
  readmost::make_hazard_pointer_batch(std::span(&hazard, 1));
  readmost::clear_hazard_pointer_batch(std::span(&hazard, 1));
  readmost::asymmetric_thread_fence_light(std::memory_order_seq_cst);
  readmost::asymmetric_thread_fence_heavy(std::memory_order_seq_cst);
}

struct config : readmost::rcu_obj_base<config> {};

void all_of_maps(readmost::rcu_hash_map<int, int>& map) {
  map.emplace(1, 1);
  map.upsert(1, [](int& value) { ++value; }, 1);
  map.update(1, [](int& value) { ++value; });
  map.insert_or_visit({1, 1}, [](const int&) {});
  map.assign(1, 2);
  map.assign_if(1, 2, [](int value) { return value == 1; });
  map.assign_if_equal(1, 1, 2);
  map.insert_or_assign_if(1, 2, [](int value) { return value == 1; });
  map.erase_if_equal(1, 1);
  map.erase_if(1, [](int value) { return value == 3; });
  map.erase_if([](const auto& each) { return each.second == 3; });
  if (const auto found = map.find_guarded(1)) static_cast<void>(map.get(found->second));
}

void all_of_rcu(readmost::rcu_domain& domain) {
  readmost::rcu_hash_map<int, int> map(0, domain);
  all_of_maps(map);
  (new config)->retire({}, domain);
  readmost::rcu_retire(new int, std::default_delete<int>(), domain);
  auto* const one = new config;
  if (!one->try_retire({}, domain)) one->retire({}, domain);
  auto* const other = new int;
  if (!readmost::rcu_try_retire(other, std::default_delete<int>(), domain)) delete other;
  const std::scoped_lock section(domain);
}

void all_of_versions(readmost::rcu_versioned<std::atomic<int>>& data,
                     readmost::rcu_domain& domain) {
  data.update([](std::atomic<int>& now) { ++now; });
  data.read([](const std::atomic<int>& now) { return now.load(); }, 0);
  readmost::domain_rcu_versioned<int> other(domain, std::in_place, 1);
  other.read([](int) {});
}

}  // namespace

void every_template_of_hazard_pointers() {
  const std::atomic<element*> source{nullptr};
  all_of_hazard_pointers(source);
}

void every_template_of_rcu() {
  all_of_rcu(readmost::rcu_default_domain());
  readmost::separate_rcu_domain domain;
  all_of_rcu(domain);
  readmost::rcu_versioned<std::atomic<int>> data;
  all_of_versions(data, domain);
  readmost::rcu_existence_lock lock;
  static_cast<void>(readmost::rcu_lock_existing([&lock] { return &lock; }, domain).make_obsolete());
}
