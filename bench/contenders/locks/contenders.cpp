#include "contenders.hpp"

#include <stdexcept>

namespace bench {

contender_list all_contenders() {
  contender_list all;
  add_system_locks(all);
  add_bravo_locks(all);
  add_rival_locks(all);
  add_library_locks(all);
  return all;
}

std::vector<std::string> names_of(const contender_list& all) {
  std::vector<std::string> names;
  for (const auto& each : all) names.push_back(each->name());
  return names;
}

const contender& named(const contender_list& all, const std::string& name) {
  for (const auto& each : all) {
    if (each->name() == name) return *each;
  }
  throw std::logic_error("there is no contender " + name);
}

void require_no_write_lost(guarded_counter& counter, std::uint64_t writes) {
  if (counter.written() != writes) {
    throw std::runtime_error("a write is lost: two writers were in at once");
  }
}

}  // namespace bench
