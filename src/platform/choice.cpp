// SPDX-License-Identifier: Apache-2.0
#include "platform/choice.hpp"

namespace readmost::detail {

__attribute__((weak)) bool tells_of_wrong_settings() noexcept {
  return true;
}

void complain(const text_buffer& complaint) noexcept {
  if (tells_of_wrong_settings()) {
    platform::write_text(nullptr, complaint.data(), complaint.length());
  }
}

}  // namespace readmost::detail
