// The parts of comparison.cpp that have tests of their own.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "comparison.hpp"

namespace bench::comparison_detail {

nlohmann::json rows_of(const figures& found);

// One row for each figure of each contender, with the values of all turns.
nlohmann::json gather(const std::vector<nlohmann::json>& turns);

// Adds median and spread to each row, and how many times as good as the others `ours` is.
void summarize(nlohmann::json& rows, const std::string& ours);

// The options from the one with that index on, as they were given, for a shell.
std::string given_options(const CLI::App& app, std::size_t first);

}  // namespace bench::comparison_detail
