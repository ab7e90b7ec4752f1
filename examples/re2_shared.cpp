// SPDX-License-Identifier: Apache-2.0
// One RE2 object used by all threads, as its documentation invites one to do. RE2 guards the states
// it has built so far with an rwlock and takes it for reading in every match.

#include <re2/re2.h>

#include <array>
#include <string>
#include <string_view>

#include "timed_threads.hpp"

namespace {

struct line {
  std::string_view text;
  bool matches;
};

constexpr std::array<line, 8> lines{{
    {"error: no such file", true},
    {"GET /index.html 200", false},
    {"warning: disk 91% full", true},
    {"user 1042 logged in", false},
    {"fatal: out of memory", true},
    {"session closed", false},
    {"errors: 0", false},
    {"retry 3: error: timeout", true},
}};

}  // namespace

int main(int argc, char** argv) {
  const examples::program program{
      "re2_shared",
      "Threads search short log lines with one shared RE2; an operation is one line."};
  return program.main(argc, argv, [](const examples::settings& chosen) {
    const RE2 pattern{"(error|warning|fatal): [a-z]"};
    examples::require(pattern.ok(), "RE2 refused the pattern");
    return examples::run(chosen, [&](unsigned thread) {
      return [&, next = std::size_t{thread}]() mutable {
        const line& given = lines[next++ % lines.size()];
        const bool found =
            RE2::PartialMatch(re2::StringPiece{given.text.data(), given.text.size()}, pattern);
        examples::require(found == given.matches, "RE2 judged a line wrongly");
      };
    });
  });
}
