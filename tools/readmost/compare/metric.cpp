// SPDX-License-Identifier: Apache-2.0
#include "compare/metric.hpp"

#include <fmt/format.h>
#include <re2/re2.h>

#include <charconv>
#include <cmath>

#include "failure.hpp"

namespace readmost::command {
namespace {

constexpr std::size_t kept_for_messages = 16 * 1024;
constexpr std::size_t kept_for_search = 64 * 1024 * 1024;

std::optional<double> parse_number(const re2::StringPiece& text) {
  const char* begin = text.data();
  const char* const end = begin + text.size();
  if (begin != end && *begin == '+') ++begin;
  double number = 0;
  const auto [stop, error] = std::from_chars(begin, end, number);
  if (error != std::errc() || stop != end || !std::isfinite(number)) return std::nullopt;
  return number;
}

}  // namespace

metric::metric(const std::string& pattern, bool lower_is_better)
    : pattern_text_(pattern), lower_is_better_(lower_is_better) {
  RE2::Options options;
  options.set_log_errors(false);
  // ^ and $ match at each line, as users expect.
  pattern_ = std::make_shared<RE2>("(?m)" + pattern, options);
  if (!pattern_->ok()) {
    throw failure(
        "--metric: '{}' is not a regular expression: {}; see "
        "https://github.com/google/re2/wiki/Syntax",
        pattern, pattern_->error());
  }
}

std::size_t metric::output_needed() const {
  return pattern_ ? kept_for_search : kept_for_messages;
}

metric::reading metric::read(const child_result& run) const {
  if (!pattern_) return {run.elapsed.count(), ""};
  if (run.output_cut) {
    return {0, fmt::format("printed more than {} MiB, too much to search for the metric; reduce "
                           "its output",
                           kept_for_search / (1024 * 1024))};
  }
  const bool has_group = pattern_->NumberOfCapturingGroups() > 0;
  re2::StringPiece found[2];
  if (!pattern_->Match(run.output, 0, run.output.size(), RE2::UNANCHORED, found, 2)) {
    return {0, fmt::format("printed nothing that --metric '{}' matches; correct the pattern",
                           pattern_text_)};
  }
  const re2::StringPiece text = found[has_group ? 1 : 0];
  const std::optional<double> number = parse_number(text);
  if (!number) {
    return {0, fmt::format("printed '{}' where --metric '{}' matches, which is not a number; put "
                           "the number alone into the first group ( )",
                           text.as_string(), pattern_text_)};
  }
  if (*number <= 0) {
    return {0, fmt::format("printed {} where --metric '{}' matches; ratios need a number above 0",
                           *number, pattern_text_)};
  }
  return {*number, ""};
}

std::optional<std::string> metric::pattern() const {
  if (!pattern_) return std::nullopt;
  return pattern_text_;
}

std::string metric::description() const {
  if (!pattern_) return "wall time in seconds, lower is better";
  return fmt::format("what '{}' matches in the output, {} is better", pattern_text_,
                     lower_is_better_ ? "lower" : "higher");
}

}  // namespace readmost::command
