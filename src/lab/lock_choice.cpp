// SPDX-License-Identifier: Apache-2.0
// READMOST_LOCK for the library of other locks.
#include "interpose/settings.hpp"
#include "platform/choice.hpp"

namespace readmost::detail::interpose {

lock_choice chosen_lock() noexcept {
  constexpr auto glibcs = static_cast<std::size_t>(lock_choice::pthread);
  const auto chosen = static_cast<lock_choice>(chosen_among(lock_names, "READMOST_LOCK", glibcs));
  if (chosen != lock_choice::prwlock) return chosen;
  text_buffer complaint;
  complaint.add(
      "readmost: READMOST_LOCK=prwlock is not in libreadmost-lab.so; preload "
      "libreadmost-pthread.so "
      "instead, or start the program with 'readmost run'. Using pthread.\n");
  platform::write_text(nullptr, complaint.data(), complaint.length());
  return lock_choice::pthread;
}

}  // namespace readmost::detail::interpose
