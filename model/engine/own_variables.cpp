// SPDX-License-Identifier: Apache-2.0
#include "engine/own_variables.hpp"

#include <cstddef>
#include <cstring>

// The symbols are weak, since a program without the library lacks the section.
extern "C" {
[[gnu::weak]] extern char __start_readmost_own[];
[[gnu::weak]] extern char __stop_readmost_own[];
}

namespace readmost::model {

namespace {

const std::vector<char>& content_at_start() {
  static const std::vector<char> content(__start_readmost_own, __stop_readmost_own);
  return content;
}

}  // namespace

own_variables::own_variables() : content_(content_at_start()) {}

void own_variables::reset() {
  content_ = content_at_start();
}

void own_variables::save() noexcept {
  if (!content_.empty()) std::memcpy(content_.data(), __start_readmost_own, content_.size());
}

void own_variables::take_place() const noexcept {
  if (!content_.empty()) std::memcpy(__start_readmost_own, content_.data(), content_.size());
}

}  // namespace readmost::model
