// SPDX-License-Identifier: Apache-2.0
// The element of rcu_hash_map, and the memory that an allocator gives. What is allocated remembers
// its allocator, because it may outlive the map that allocated it.
#pragma once

#include <cstddef>
#include <memory>
#include <readmost/detail/platform/exceptions.hpp>
#include <readmost/detail/rcu/hash_chains.hpp>
#include <type_traits>
#include <utility>

namespace readmost::detail {

// For the table's arrays.
template <class Allocator>
class allocator_memory {
  struct alignas(std::max_align_t) unit {
    std::byte bytes[sizeof(std::max_align_t)];
  };
  using traits = typename std::allocator_traits<Allocator>::template rebind_traits<unit>;

 public:
  explicit allocator_memory(const Allocator& from) noexcept : from_(from) {}

  void* allocate(std::size_t bytes) const noexcept {
    typename traits::allocator_type from(from_);
    READMOST_TRY {
      return traits::allocate(from, units(bytes));
    }
    READMOST_CATCH(...) {
      return nullptr;
    }
  }
  void deallocate(void* memory, std::size_t bytes) const noexcept {
    typename traits::allocator_type from(from_);
    traits::deallocate(from, static_cast<unit*>(memory), units(bytes));
  }

 private:
  static std::size_t units(std::size_t bytes) noexcept {
    return (bytes + sizeof(unit) - 1) / sizeof(unit);
  }

  [[no_unique_address]] Allocator from_;
};

// Value is a pair of a key and its mapped value.
template <class Value, class Allocator>
class map_element final : public hash_node<map_element<Value, Allocator>> {
  using allocator = typename std::allocator_traits<Allocator>::template rebind_alloc<map_element>;
  using traits = std::allocator_traits<allocator>;

  struct deleter {
    void operator()(map_element* old) const noexcept { old->destroy(); }
  };

 public:
  using memory = allocator_memory<Allocator>;
  using owner = std::unique_ptr<map_element, deleter>;

  // The value is made of `arguments`, as the allocator makes it. The hash is set later.
  template <class... Args>
  static owner make(const Allocator& from, Args&&... arguments) {
    static_assert(std::is_same_v<typename traits::pointer, map_element*>,
                  "the allocator of an rcu_hash_map allocates with plain pointers");
    allocator own(from);
    empty_place place{own, traits::allocate(own, 1)};
    auto* const made = new (place.at) map_element(own, std::forward<Args>(arguments)...);
    place.at = nullptr;
    return owner(made);
  }

  ~map_element() {}  // destroy() ends the value
  map_element(const map_element&) = delete;
  map_element& operator=(const map_element&) = delete;

  void retire(domain& d) noexcept {
    static constexpr retired_kind kind{
        [](retired* object) noexcept { static_cast<map_element*>(object)->destroy(); },
        sizeof(map_element)};
    schedule(d, *this, kind);
  }
  void destroy() noexcept {
    allocator own(allocator_);
    traits::destroy(own, std::addressof(value));
    std::destroy_at(this);
    traits::deallocate(own, this, 1);
  }

  union {
    Value value;
  };

 private:
  // Gives the memory back if the element is not made.
  struct empty_place {
    ~empty_place() {
      if (at != nullptr) traits::deallocate(from, at, 1);
    }
    allocator& from;
    map_element* at;
  };

  template <class... Args>
  explicit map_element(const allocator& from, Args&&... arguments) : allocator_(from) {
    allocator own(from);
    traits::construct(own, std::addressof(value), std::forward<Args>(arguments)...);
  }

  [[no_unique_address]] allocator allocator_;
};

}  // namespace readmost::detail
