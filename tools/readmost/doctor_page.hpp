#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "examination.hpp"

namespace readmost::command {

std::string as_page(const examination& all);
nlohmann::ordered_json as_json(const examination& all);

}  // namespace readmost::command
