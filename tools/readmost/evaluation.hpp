#pragma once

#include <CLI/CLI.hpp>

#include "command_line.hpp"

namespace readmost::command {

// `bench` and `report` are written in Python: evaluation/ in the sources, share/readmost/evaluation
// once installed. Here they are named, found, and started.
void add_evaluation(CLI::App& readmost);

// Whether the words begin with one of the two, whose options only Python knows.
bool is_evaluation(const command_line& line);

// Replaces this process by Python, with all words. Throws failure 125 when it or what it needs is
// missing.
[[noreturn]] void evaluate(const command_line& line);

}  // namespace readmost::command
