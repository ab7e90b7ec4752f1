// SPDX-License-Identifier: Apache-2.0
// The way between an element of an intrusive container and the hook in it.
#pragma once

#include <bit>
#include <cstddef>
#include <type_traits>

namespace readmost::detail {

// A pointer to a data member: the class that declares it, and the member's type.
template <class Pointer>
struct data_member;
template <class Member, class Class>
struct data_member<Member Class::*> {
  using declared_in = Class;
  using type = Member;
};

// `Hook`: nullptr if T derives from HookType, &T::hook if the hook is a member.
template <class T, auto Hook, class HookType>
struct hooked {
  static constexpr bool by_base = std::is_null_pointer_v<decltype(Hook)>;

  static HookType& hook_of(T& object) noexcept {
    if constexpr (by_base) {
      return object;
    } else {
      return object.*Hook;
    }
  }

  template <class Of, class To>
  using like = std::conditional_t<std::is_const_v<Of>, const To, To>;

  // From the hook to the element that contains it. A pointer to a data member is the member's
  // offset (Itanium C++ ABI 2.3.1) in the class that declares it, which may be a base of T.
  template <class AnyHook>
  static like<AnyHook, T>* object_of(AnyHook* hook) noexcept {
    if constexpr (by_base) {
      return static_cast<like<AnyHook, T>*>(hook);
    } else {
      static_assert(sizeof(Hook) == sizeof(std::ptrdiff_t));
      using member = data_member<std::remove_const_t<decltype(Hook)>>;
      auto* const whole_member = static_cast<like<AnyHook, typename member::type>*>(hook);
      auto* const byte = reinterpret_cast<like<AnyHook, std::byte>*>(whole_member) -
                         std::bit_cast<std::ptrdiff_t>(Hook);
      return static_cast<like<AnyHook, T>*>(
          reinterpret_cast<like<AnyHook, typename member::declared_in>*>(byte));
    }
  }
};

}  // namespace readmost::detail
