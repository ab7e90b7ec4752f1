// SPDX-License-Identifier: Apache-2.0
// The text by which a failing execution is reported.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

#include "engine/execution.hpp"

namespace readmost::model {

// "consensus.cpp:120"
std::string place_in_source(const std::source_location& at);

const char* name_of(std::memory_order order) noexcept;

std::string describe_operation(const execution& run, const operation& what);

// Names for variables that a scenario has not named, such as the library's own.
using describer = bool (*)(const execution& run, std::uintptr_t address, std::string& name);
using value_describer = bool (*)(const std::string& name, std::uint64_t value, std::string& text);
void describe_with(describer names, value_describer values);
std::string describe_unnamed(const execution& run, std::uintptr_t address);
std::string describe_value_of(const std::string& name, std::uint64_t value);

// One line per step, in columns.
std::string interleaving(const std::vector<recorded_step>& record);

// A schedule as one line of text. "1@5 2@3:1 b1" means: thread 1 up to its fifth access, thread 2
// up to its third with the second possible outcome, then one entry of thread 1's store buffer.
std::string to_text(const std::vector<choice>& schedule);
// Throws std::invalid_argument with the word that cannot be read.
std::vector<choice> schedule_from(const std::string& text);

}  // namespace readmost::model
