// SPDX-License-Identifier: Apache-2.0
#include "engine/weakening.hpp"

#include <cstring>

namespace readmost::model {

namespace {

std::optional<weakening> present;
std::vector<lettered_place> met;
// The line at which each letter was last reached. Most accesses are at the same line again.
std::vector<std::uint_least32_t> last_line;

void remember(letter which, std::memory_order order, bool is_fence, std::source_location at) {
  const auto number = static_cast<std::size_t>(which);
  if (number >= last_line.size()) last_line.resize(number + 1);
  if (last_line[number] == at.line()) return;
  last_line[number] = at.line();
  for (const auto& known : met) {
    if (known.which == which && known.at.line() == at.line() &&
        std::strcmp(known.at.file_name(), at.file_name()) == 0) {
      return;
    }
  }
  met.push_back({which, order, is_fence, at});
}

}  // namespace

void weaken(std::optional<weakening> what) {
  present = what;
}

const std::optional<weakening>& weakened() noexcept {
  return present;
}

const std::vector<lettered_place>& letters_met() {
  return met;
}

void forget_letters_met() {
  met.clear();
  last_line.clear();
}

std::memory_order order_now(letter which, std::memory_order order, bool is_fence,
                            std::source_location at) {
  remember(which, order, is_fence, at);
  return present && present->which == which ? present->order : order;
}

}  // namespace readmost::model
