// Hazard pointers read the same cell.
#include <readmost/hazard_pointer.hpp>

#include "asymmetric_hazard_pointer.hpp"
#include "contenders.hpp"
#include "side_of.hpp"

namespace bench {

namespace {

// Made once for each batch, as users keep one at hand.
template <class HazardPointer, auto make>
class protecting_reader {
 public:
  std::uint64_t look(const shared_cell& from) {
    const std::uint64_t value = mine_.protect(from.current)->value;
    mine_.reset_protection();
    return value;
  }
  void hold(const shared_cell& from, const std::function<void()>& use) {
    mine_.protect(from.current);
    use();
    mine_.reset_protection();
  }

 private:
  HazardPointer mine_ = make();
};

struct ours : needs_no_threads {
  static constexpr const char* name = "readmost::hazard_pointer";
  using reader = protecting_reader<readmost::hazard_pointer, readmost::make_hazard_pointer>;
};

struct asymmetric : needs_no_threads {
  static constexpr const char* name = "hazard-asymmetric";
  using reader =
      protecting_reader<asymmetric_hazard_pointer, [] { return asymmetric_hazard_pointer(); }>;
};

}  // namespace

std::unique_ptr<read_side> make_readmost_hazard_pointer() {
  return std::make_unique<read_side_of<ours>>();
}
std::unique_ptr<read_side> make_asymmetric_hazard_pointer() {
  return std::make_unique<read_side_of<asymmetric>>();
}

}  // namespace bench
