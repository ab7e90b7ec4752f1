// SPDX-License-Identifier: Apache-2.0
// liburcu's hash table, cds_lfht, with its flavor memb, whose read sections are inline here.
#include <stdexcept>

#include "contenders/rcu/lookup_table_of.hpp"
// clang-format off: last, since some of its names are macros.
#include "contenders/rcu/liburcu_flavor.hpp"
// clang-format on

namespace bench {

namespace {

class lfht {
 public:
  // Has as many buckets as elements at first, and resizes only on demand.
  explicit lfht(std::size_t elements)
      : table_(cds_lfht_new(elements, elements, 0, 0, nullptr)), buckets_(elements) {
    if (table_ == nullptr) throw std::runtime_error("cds_lfht_new failed");
    begin_thread();
    for (std::uint64_t key = 0; key < elements; ++key) {
      auto* const fresh = new element{{}, key, value_of(key)};
      cds_lfht_node_init(&fresh->node);
      rcu_read_lock();
      cds_lfht_add(table_, hash(key), &fresh->node);
      rcu_read_unlock();
    }
    end_thread();
  }
  ~lfht() {
    begin_thread();
    std::vector<element*> all;
    rcu_read_lock();
    cds_lfht_iter at;
    element* each = nullptr;
    cds_lfht_for_each_entry(table_, &at, each, node) {
      cds_lfht_del(table_, &each->node);
      all.push_back(each);
    }
    rcu_read_unlock();
    synchronize_rcu();
    for (element* one : all) delete one;
    end_thread();
    cds_lfht_destroy(table_, nullptr);
  }
  lfht(const lfht&) = delete;
  lfht& operator=(const lfht&) = delete;

  static void begin_thread() { rcu_register_thread(); }
  static void end_thread() { rcu_unregister_thread(); }
  static bool synchronize() {
    synchronize_rcu();
    return true;
  }

  bool find(std::uint64_t key) {
    rcu_read_lock();
    cds_lfht_iter found;
    cds_lfht_lookup(table_, hash(key), is_it, &key, &found);
    cds_lfht_node* const node = cds_lfht_iter_get_node(&found);
    const bool there =
        node != nullptr && caa_container_of(node, element, node)->value == value_of(key);
    rcu_read_unlock();
    return there;
  }
  void resize(std::size_t buckets) {
    cds_lfht_resize(table_, buckets);
    buckets_ = buckets;
  }
  std::size_t buckets() { return buckets_; }

 private:
  struct element {
    cds_lfht_node node;
    std::uint64_t key;
    std::uint64_t value;
  };

  static unsigned long hash(std::uint64_t key) { return spreading_hash{}(key); }
  static int is_it(cds_lfht_node* node, const void* key) {
    return caa_container_of(node, element, node)->key == *static_cast<const std::uint64_t*>(key);
  }

  cds_lfht* table_;
  std::size_t buckets_;
};

}  // namespace

std::unique_ptr<lookup_table> make_liburcu_lfht(std::size_t elements) {
  return std::make_unique<lookup_table_of<lfht>>(elements);
}

}  // namespace bench
