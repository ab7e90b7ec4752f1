// SPDX-License-Identifier: Apache-2.0
// readmost_hazard_pointer.h over readmost::hazard_pointer.
#include <readmost_hazard_pointer.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <readmost/hazard_pointer.hpp>
#include <type_traits>

#include "rcu/retired_queue.hpp"

namespace readmost::detail {

namespace {

// A program's object as hazard pointers know it, by its address.
struct hazardous : hazard_pointer_obj_base<hazardous> {};

// What a head holds from retirement on. A scan reads the kind only of objects that are left.
struct retired_with_kind {
  retired link;
  retired_kind kind;
};

static_assert(sizeof(readmost_hazard_head) == sizeof(retired_with_kind));
static_assert(alignof(readmost_hazard_head) == alignof(retired_with_kind));
static_assert(sizeof(readmost_hazard_pointer_t) == sizeof(hazard_pointer));
static_assert(alignof(readmost_hazard_pointer_t) == alignof(hazard_pointer));
static_assert(std::is_standard_layout_v<hazard_pointer>);  // its slot comes first
static_assert(std::is_standard_layout_v<retired_with_kind>);

hazard_pointer& hazard_at(readmost_hazard_pointer_t* hazard) noexcept {
  return *reinterpret_cast<hazard_pointer*>(hazard);
}

const platform::atomic<hazardous*>& source_at(const void* pointer) noexcept {
  static_assert(sizeof(platform::atomic<hazardous*>) == sizeof(void*));
  return *static_cast<const platform::atomic<hazardous*>*>(pointer);
}

}  // namespace

}  // namespace readmost::detail

using namespace readmost;
using namespace readmost::detail;

extern "C" {

int readmost_hazard_pointer_create(readmost_hazard_pointer_t* hazard) noexcept {
  hazard->readmost_slot = take_hazard_slot();
  return hazard->readmost_slot != nullptr ? 0 : ENOMEM;
}

void readmost_hazard_pointer_destroy(readmost_hazard_pointer_t* hazard) noexcept {
  hazard_at(hazard) = hazard_pointer();
}

void* readmost_hazard_pointer_protect(readmost_hazard_pointer_t* hazard,
                                      const void* pointer) noexcept {
  return hazard_at(hazard).protect(source_at(pointer));
}

int readmost_hazard_pointer_try_protect(readmost_hazard_pointer_t* hazard, void* expected,
                                        const void* pointer) noexcept {
  hazardous* object = nullptr;
  std::memcpy(&object, expected, sizeof object);
  const bool is_protected = hazard_at(hazard).try_protect(object, source_at(pointer));
  std::memcpy(expected, &object, sizeof object);
  return is_protected ? 1 : 0;
}

void readmost_hazard_pointer_set(readmost_hazard_pointer_t* hazard,
                                 const readmost_hazard_head* head) noexcept {
  hazard_at(hazard).reset_protection(reinterpret_cast<const hazardous*>(head));
}

void readmost_hazard_pointer_reset(readmost_hazard_pointer_t* hazard) noexcept {
  hazard_at(hazard).reset_protection();
}

int readmost_hazard_retire(readmost_hazard_head* head, readmost_hazard_function_t* function,
                           std::size_t bytes) noexcept {
  if (function == nullptr) return EINVAL;
  auto* const reclaim = reinterpret_cast<void (*)(retired*) noexcept>(function);
  auto* const object =
      new (head) retired_with_kind{{}, {reclaim, std::min(bytes, most_call_bytes)}};
  retire_hazardous(object->link, object->kind);
  return 0;
}

void readmost_hazard_clean_up() noexcept {
  hazard_pointer_clean_up();
}

void readmost_hazard_limit_backlog(std::uint64_t objects, std::uint64_t bytes,
                                   std::uint64_t microseconds) noexcept {
  constexpr std::uint64_t most = UINT64_MAX / 1000;
  hazard_pointer_limit_backlog(
      {objects, bytes, (microseconds < most ? microseconds : most) * 1000});
}

int readmost_hazard_reclaim_by(int who) noexcept {
  if (who != READMOST_RCU_IN_BACKGROUND && who != READMOST_RCU_IN_PLACE &&
      who != READMOST_RCU_ON_REQUEST) {
    return EINVAL;
  }
  hazard_pointer_reclaim_by(static_cast<reclaiming>(who));
  return 0;
}
}
