// SPDX-License-Identifier: Apache-2.0
// The tables by id of readmost_rcu.h, over the slots of readmost::id_table.
#include <readmost_rcu.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <readmost/detail/rcu/id_slots.hpp>

#include "c_api/object_in_head.hpp"
#include "c_api/rcu_domain.hpp"

namespace readmost::detail {

namespace {

struct id_object final : id_node<mutex>, object_in_head<id_object, readmost_id_head> {
  using object_in_head::object_in_head;

  static constexpr unsigned index_bits = 32;
  static constexpr unsigned generation_bits = 32;

  static void* allocate(std::size_t size) noexcept { return std::malloc(size); }
  static void deallocate(void* memory, std::size_t) noexcept { std::free(memory); }
};

using id_objects = id_slots<id_object>;

}  // namespace

}  // namespace readmost::detail

using namespace readmost::detail;

// Programs know only its address.
struct readmost_id_table {
  readmost_id_table(std::uint64_t most, id_objects::array& first, domain& d) noexcept
      : objects(most, first, d) {}
  id_objects objects;
};

namespace {

int hold(id_object* found, bool busy, readmost_id_head** head) noexcept {
  if (found == nullptr) return busy ? EBUSY : ENOENT;
  *head = id_object::head_of(*found);
  return 0;
}

}  // namespace

extern "C" {

int readmost_id_table_create(readmost_id_table_t** table, readmost_rcu_domain_t* domain,
                             std::uint64_t most) noexcept {
  if (most > id_objects::most_slots) return EINVAL;
  void* const memory = std::aligned_alloc(alignof(readmost_id_table), sizeof(readmost_id_table));
  if (memory == nullptr) return ENOMEM;
  id_objects::array* const first = id_objects::array::make(id_objects::fewest_slots);
  if (first == nullptr) {
    std::free(memory);
    return ENOMEM;
  }
  *table = new (memory)
      readmost_id_table(most != 0 ? most : id_objects::most_slots, *first, core_of(domain));
  return 0;
}

void readmost_id_table_destroy(readmost_id_table_t* table) noexcept {
  std::destroy_at(table);
  std::free(table);
}

int readmost_id_table_insert(readmost_id_table_t* table, readmost_id_head* head,
                             readmost_id_function_t* function, std::size_t bytes,
                             std::uint64_t* id) noexcept {
  if (function == nullptr) return EINVAL;
  auto* const fresh = new (head) id_object(function, bytes);
  id_refusal why{};
  const std::uint64_t given = table->objects.insert(*fresh, why);
  if (given == 0) {
    std::destroy_at(fresh);
    return why == id_refusal::no_memory ? ENOMEM : ENOSPC;
  }
  *id = given;
  return 0;
}

readmost_id_head* readmost_id_table_find(readmost_id_table_t* table, std::uint64_t id) noexcept {
  id_object* const found = table->objects.find(id);
  return found != nullptr ? id_object::head_of(*found) : nullptr;
}

int readmost_id_table_lock(readmost_id_table_t* table, std::uint64_t id,
                           readmost_id_head** head) noexcept {
  return hold(table->objects.lock<exclusive_hold>(id), false, head);
}

int readmost_id_table_trylock(readmost_id_table_t* table, std::uint64_t id,
                              readmost_id_head** head) noexcept {
  bool busy = false;
  id_object* const found = table->objects.try_lock<exclusive_hold>(id, busy);
  return hold(found, busy, head);
}

void readmost_id_table_unlock(readmost_id_head* head) noexcept {
  id_object::at(head).lock.unlock();
}

int readmost_id_table_erase(readmost_id_table_t* table, std::uint64_t id) noexcept {
  id_object* const held = table->objects.lock<exclusive_hold>(id);
  if (held == nullptr) return ENOENT;
  table->objects.erase(*held);
  return 0;
}

void readmost_id_table_erase_locked(readmost_id_table_t* table, readmost_id_head* head) noexcept {
  table->objects.erase(id_object::at(head));
}

std::uint64_t readmost_id_table_id(const readmost_id_head* head) noexcept {
  return id_object::at(const_cast<readmost_id_head*>(head)).id;
}

void readmost_id_table_for_each(readmost_id_table_t* table, readmost_id_visit_t* visit,
                                void* argument) noexcept {
  table->objects.for_each(
      [&](id_object& each) { visit(id_object::head_of(each), each.id, argument); });
}

std::uint64_t readmost_id_table_size(const readmost_id_table_t* table) noexcept {
  return table->objects.size();
}

int readmost_id_table_reserve(readmost_id_table_t* table, std::uint64_t objects) noexcept {
  if (objects > table->objects.most()) return EINVAL;
  return table->objects.reserve(objects) ? 0 : ENOMEM;
}

int readmost_id_table_shrink(readmost_id_table_t* table) noexcept {
  return table->objects.shrink() ? 0 : ENOMEM;
}
}
