#include "necessity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "catalogue.hpp"
#include "engine/report.hpp"

namespace readmost::model {

mutant mutant_named(const std::string& name) {
  if (name == "none") return mutant::none;
#define READMOST_NAMED(each, what) \
  if (name == #each) return mutant::each;
  READMOST_MUTANTS(READMOST_NAMED)
#undef READMOST_NAMED
  throw std::invalid_argument("there is no mutant '" + name +
                              "'; include/readmost/mutant.hpp lists them");
}

weakening weakening_named(const std::string& text) {
  const std::size_t sign = text.find('=');
  const std::string name = text.substr(0, sign);
  std::memory_order order = std::memory_order_relaxed;
  if (sign != std::string::npos) {
    const std::string wanted = text.substr(sign + 1);
    bool known = false;
    for (const auto each : {std::memory_order_relaxed, std::memory_order_acquire,
                            std::memory_order_release, std::memory_order_acq_rel}) {
      if (wanted == name_of(each)) {
        order = each;
        known = true;
      }
    }
    if (!known) {
      throw std::invalid_argument("there is no order '" + wanted +
                                  "' to weaken to; there are relaxed, acquire, release, acq_rel");
    }
  }
#define READMOST_NAMED(each, what, partners) \
  if (name == #each) return {letter::each, order};
  READMOST_LETTERS(READMOST_NAMED)
#undef READMOST_NAMED
  throw std::invalid_argument("there is no letter '" + name +
                              "'; include/readmost/letters.hpp lists them");
}

int find_necessity(const necessity_request&) {
  return 0;
}

}  // namespace readmost::model
