#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "top_sample.hpp"

namespace readmost::command {

// What happened between two samples, as rates. Names locks by target.place_of().
std::string as_block(top_target& target, const top_sample& before, const top_sample& now);
nlohmann::ordered_json as_json(top_target& target, const top_sample& before, const top_sample& now);

}  // namespace readmost::command
