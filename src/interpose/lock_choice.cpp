// SPDX-License-Identifier: Apache-2.0
// READMOST_LOCK for the library of Readmost's own lock.
#include "interpose/settings.hpp"
#include "platform/choice.hpp"

namespace readmost::detail::interpose {

lock_choice chosen_lock() noexcept {
  const std::size_t asked = chosen_among(lock_names, "READMOST_LOCK", 0);
  if (static_cast<lock_choice>(asked) != lock_choice::prwlock) {
    const char* const name = lock_names[asked].data();
    text_buffer complaint;
    complaint.add(
        "readmost: READMOST_LOCK=%s is not in libreadmost-pthread.so; preload libreadmost-lab.so "
        "instead, or start the program with 'readmost run --lock %s'. Using prwlock.\n",
        name, name);
    platform::write_text(nullptr, complaint.data(), complaint.length());
  }
  return lock_choice::prwlock;
}

}  // namespace readmost::detail::interpose
