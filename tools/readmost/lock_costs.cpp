#include "lock_costs.hpp"

namespace readmost::command {
namespace {

spread spread_from(const nlohmann::ordered_json& document) {
  return {document.at("median"), document.at("min"), document.at("max")};
}

}  // namespace

std::vector<std::size_t> reader_counts(std::size_t cpus) {
  if (cpus < 2) return {};
  if (cpus == 2) return {2};
  return {2, cpus};
}

nlohmann::ordered_json as_json(const lock_costs& costs) {
  nlohmann::ordered_json together = nlohmann::ordered_json::array();
  for (const lock_costs::together& some : costs.read_together) {
    together.push_back({{"threads", some.threads}, {"read", as_json(some.read)}});
  }
  return {
      {"read", as_json(costs.read)}, {"write", as_json(costs.write)}, {"read_together", together}};
}

lock_costs lock_costs_from(const nlohmann::ordered_json& document) {
  lock_costs costs{spread_from(document.at("read")), spread_from(document.at("write")), {}};
  for (const nlohmann::ordered_json& some : document.at("read_together")) {
    costs.read_together.push_back({some.at("threads"), spread_from(some.at("read"))});
  }
  return costs;
}

}  // namespace readmost::command
