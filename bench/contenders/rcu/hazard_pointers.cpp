// SPDX-License-Identifier: Apache-2.0
// Hazard pointers read the cell.
#include <readmost/hazard_pointer.hpp>

#include "contenders/rcu/hazard_slots.hpp"
#include "contenders/rcu/side_of.hpp"

namespace bench {

namespace {

// Ours, with the members of hazard_slots.
class our_hazard_pointer {
 public:
  data* protect(std::size_t, const std::atomic<data*>& source) { return mine_.protect(source); }
  void clear(std::size_t) { mine_.reset_protection(); }

 private:
  readmost::hazard_pointer mine_ = readmost::make_hazard_pointer();
};

// Made once for each batch, since users keep a hazard pointer at hand.
template <class Hazards>
class protecting_reader {
 public:
  std::uint64_t look(const shared_cell& from) {
    const std::uint64_t value = mine_.protect(0, from.current)->value;
    mine_.clear(0);
    return value;
  }
  void hold(const shared_cell& from, const std::function<void()>& use) {
    mine_.protect(0, from.current);
    use();
    mine_.clear(0);
  }

 private:
  Hazards mine_;
};

struct ours : needs_no_threads {
  static constexpr const char* name = "readmost::hazard_pointer";
  using reader = protecting_reader<our_hazard_pointer>;
};

struct asymmetric : needs_no_threads {
  static constexpr const char* name = "hazard-asymmetric";
  using reader = protecting_reader<hazard_slots<data, hazard_fence::asymmetric>>;
};

}  // namespace

std::unique_ptr<read_side> make_readmost_hazard_pointer() {
  return std::make_unique<read_side_of<ours>>();
}
std::unique_ptr<read_side> make_asymmetric_hazard_pointer() {
  return std::make_unique<read_side_of<asymmetric>>();
}

}  // namespace bench
