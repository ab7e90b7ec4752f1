// SPDX-License-Identifier: Apache-2.0
// What the tables of readmost_rcu.h keep in the head of a caller's object, while the object is in a
// table and until it is reclaimed by the caller's function.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <readmost/detail/rcu/retired.hpp>

namespace readmost::detail {

// Object derives from retired and from this. It is made where the head is, and fits there.
template <class Object, class Head>
class object_in_head {
 public:
  using function = void(Head* head);

  object_in_head(function* reclaim, std::size_t bytes) noexcept
      : reclaim_(reclaim), bytes_(bytes) {}

  static Head* head_of(const Object& object) noexcept {
    return reinterpret_cast<Head*>(const_cast<Object*>(&object));
  }
  static Object& at(Head* head) noexcept {
    static_assert(sizeof(Object) <= sizeof(Head) && alignof(Object) <= alignof(Head));
    return *std::launder(reinterpret_cast<Object*>(head));
  }

  void retire(domain& d) noexcept {
    schedule_call(
        d, static_cast<Object&>(*this),
        [](retired* object) { static_cast<Object*>(object)->destroy(); }, bytes_);
  }
  void destroy() noexcept {
    function* const reclaim = reclaim_;
    auto& object = static_cast<Object&>(*this);
    Head* const head = head_of(object);
    std::destroy_at(&object);
    reclaim(head);
  }

 private:
  function* const reclaim_;
  const std::size_t bytes_;
};

}  // namespace readmost::detail
