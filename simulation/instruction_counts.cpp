// SPDX-License-Identifier: Apache-2.0
// The table is written by scripts/count-instructions.
#include "simulation/instruction_counts.hpp"

namespace readmost::simulation {

namespace {

// clang-format off
constexpr instruction_counts table[] = {
    {"readmost", {48, 13}, {28, 7}},
    {"readmost-reader", {48, 13}, {28, 7}},
    {"readmost-phase-fair", {48, 13}, {28, 7}},
    {"glibc-like", {68, 5}, {84, 9}},
    {"mutex", {64, 8}, {64, 8}},
    {"bravo-glibc", {107, 12}, {124, 13}},
    {"bravo-ba", {107, 12}, {85, 20}},
    {"ba", {9, 2}, {45, 16}},
    {"pf-t", {21, 2}, {26, 8}},
    {"per-cpu", {38, 2}, {138, 32}},
    {"cohort-rw", {38, 4}, {103, 18}},
    {"brlock", {53, 2}, {71, 6}},
    {"brlock-flags", {56, 5}, {132, 12}},
    {"rmlock", {55, 5}, {105, 16}},
    {"percpu-rwlock", {115, 20}, {930, 61}},
    {"c-snzi", {71, 3}, {58, 8}},
    {"tlrw", {54, 5}, {426, 52}},
    {"stamped", {33, 5}, {28, 3}},
};
// clang-format on

}  // namespace

const double instructions_of_caller = 11;

const instruction_counts* find_instruction_counts(std::string_view lock) noexcept {
  for (const instruction_counts& each : table) {
    if (each.lock == lock) return &each;
  }
  return nullptr;
}

}  // namespace readmost::simulation
