// SPDX-License-Identifier: Apache-2.0
// The hash tables of readmost_rcu.h, over the table of readmost::rcu_hash_map.
#include <readmost_rcu.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <new>
#include <readmost/detail/rcu/hash_finalizer.hpp>
#include <readmost/detail/rcu/resizable_hash_table.hpp>

#include "c_api/object_in_head.hpp"
#include "c_api/rcu_domain.hpp"

namespace readmost::detail {

namespace {

struct heap_memory {
  void* allocate(std::size_t bytes) const noexcept { return std::malloc(bytes); }
  void deallocate(void* block, std::size_t) const noexcept { std::free(block); }
};

struct table_object final : hash_node<table_object>,
                            object_in_head<table_object, readmost_rcu_table_head> {
  using memory = heap_memory;

  table_object(std::size_t mixed_hash, function* reclaim, std::size_t bytes) noexcept
      : hash_node(mixed_hash), object_in_head(reclaim, bytes) {}
};

// Callers need not pass good hash values.
std::size_t mixed(std::uint64_t hash) noexcept {
  return static_cast<std::size_t>(finalize(hash));
}

using table_objects = resizable_hash_table<table_object>;

}  // namespace

}  // namespace readmost::detail

using namespace readmost::detail;

// Programs know only its address.
struct readmost_rcu_table {
  readmost_rcu_table(table_objects::buckets::owner first, domain& d,
                     readmost_rcu_table_equal_t* with) noexcept
      : objects(std::move(first), d), equal(with) {}

  // Says whether an object has the key.
  auto matcher(std::size_t hash, const void* key) const noexcept {
    return [this, hash, key](const table_object& candidate) {
      return candidate.hash == hash && equal(table_object::head_of(candidate), key) != 0;
    };
  }

  table_objects objects;
  readmost_rcu_table_equal_t* equal;
};

namespace {

auto is(const table_object& object) noexcept {
  return [&object](const table_object& candidate) { return &candidate == &object; };
}

}  // namespace

extern "C" {

int readmost_rcu_table_create(readmost_rcu_table_t** table, readmost_rcu_domain_t* domain,
                              readmost_rcu_table_equal_t* equal, std::uint64_t buckets) noexcept {
  if (equal == nullptr || buckets > table_objects::most_buckets) return EINVAL;
  void* const memory = std::aligned_alloc(alignof(readmost_rcu_table), sizeof(readmost_rcu_table));
  if (memory == nullptr) return ENOMEM;
  auto first = table_objects::buckets::make(table_objects::rounded(buckets), heap_memory());
  if (first == nullptr) {
    std::free(memory);
    return ENOMEM;
  }
  *table = new (memory) readmost_rcu_table(std::move(first), core_of(domain), equal);
  return 0;
}

void readmost_rcu_table_destroy(readmost_rcu_table_t* table) noexcept {
  std::destroy_at(table);
  std::free(table);
}

readmost_rcu_table_head* readmost_rcu_table_find(const readmost_rcu_table_t* table,
                                                 std::uint64_t hash, const void* key) noexcept {
  const std::size_t spread = mixed(hash);
  const table_object* const found =
      table_objects::find(*table->objects.present(), spread, table->matcher(spread, key));
  return found != nullptr ? table_object::head_of(*found) : nullptr;
}

int readmost_rcu_table_insert(readmost_rcu_table_t* table, readmost_rcu_table_head* head,
                              std::uint64_t hash, const void* key,
                              readmost_rcu_table_function_t* function, std::size_t bytes) noexcept {
  if (function == nullptr) return EINVAL;
  auto* const fresh = new (head) table_object(mixed(hash), function, bytes);
  const auto matches = table->matcher(fresh->hash, key);
  return table->objects.insert_made(*fresh, matches, [](const table_object&) {}) ? 0 : EEXIST;
}

int readmost_rcu_table_put(readmost_rcu_table_t* table, readmost_rcu_table_head* head,
                           std::uint64_t hash, const void* key,
                           readmost_rcu_table_function_t* function, std::size_t bytes) noexcept {
  if (function == nullptr) return EINVAL;
  auto* const fresh = new (head) table_object(mixed(hash), function, bytes);
  table->objects.put(*fresh, table->matcher(fresh->hash, key));
  return 0;
}

int readmost_rcu_table_replace(readmost_rcu_table_t* table, readmost_rcu_table_head* old,
                               readmost_rcu_table_head* fresh,
                               readmost_rcu_table_function_t* function,
                               std::size_t bytes) noexcept {
  if (function == nullptr) return EINVAL;
  const table_object& leaves = table_object::at(old);
  auto* const comes = new (fresh) table_object(leaves.hash, function, bytes);
  const bool replaced = table->objects.replace(leaves.hash, is(leaves),
                                               [comes](const table_object&) { return comes; });
  return replaced ? 0 : ENOENT;
}

int readmost_rcu_table_erase(readmost_rcu_table_t* table, std::uint64_t hash,
                             const void* key) noexcept {
  const std::size_t spread = mixed(hash);
  const auto matches = table->matcher(spread, key);
  return table->objects.erase(spread, matches, [](const table_object&) { return true; }) ? 0
                                                                                         : ENOENT;
}

int readmost_rcu_table_erase_object(readmost_rcu_table_t* table,
                                    readmost_rcu_table_head* head) noexcept {
  const table_object& old = table_object::at(head);
  return table->objects.erase(old.hash, is(old), [](const table_object&) { return true; }) ? 0
                                                                                           : ENOENT;
}

std::uint64_t readmost_rcu_table_erase_if(readmost_rcu_table_t* table,
                                          readmost_rcu_table_choose_t* choose,
                                          void* argument) noexcept {
  return table->objects.erase_if(
      [&](const table_object& each) { return choose(table_object::head_of(each), argument) != 0; });
}

void readmost_rcu_table_for_each(const readmost_rcu_table_t* table,
                                 readmost_rcu_table_visit_t* visit, void* argument) noexcept {
  const section_scope inside(number_of(table->objects.home()));
  const table_objects::buckets& now = *table->objects.present();
  for (const table_object* each = table_objects::first_of(now); each != nullptr;
       each = table_objects::after(now, *each)) {
    visit(table_object::head_of(*each), argument);
  }
}

std::uint64_t readmost_rcu_table_size(const readmost_rcu_table_t* table) noexcept {
  return table->objects.size();
}

std::uint64_t readmost_rcu_table_buckets(const readmost_rcu_table_t* table) noexcept {
  return table->objects.bucket_count();
}

int readmost_rcu_table_reserve(readmost_rcu_table_t* table, std::uint64_t objects) noexcept {
  const std::size_t buckets = table->objects.buckets_for(objects);
  if (buckets > table_objects::most_buckets) return EINVAL;
  table->objects.rehash(buckets);
  return 0;
}
}
