// SPDX-License-Identifier: Apache-2.0
// The contours as one SVG: two plots by CPUs, below them two by latency. RCU is the cheapest in the
// shaded region.
#include <fmt/format.h>

#include <cmath>
#include <iterator>

#include "simulation/advice/contours.hpp"

namespace readmost::simulation {

namespace {

constexpr double width = 420, height = 300;                     // of a plot with its margins
constexpr double left = 52, right = 22, top = 44, bottom = 46;  // margins
constexpr double head = 56, foot = 56;                          // of the whole
constexpr const char* classes[] = {"a", "b", "c", "d"};         // by comparison

constexpr const char* style = R"(
 svg { --page: #fff; --text: #1b1f24; --quiet: #59626d; --rule: #d8dde3;
   --a: #6b3fc9; --b: #c96a00; --c: #00785a; --d: #747d88; --mark: #a1260d }
 @media (prefers-color-scheme: dark) { svg { --page: #14181d; --text: #e6eaee; --quiet: #9fabb7;
   --rule: #333c46; --a: #b59bff; --b: #f0a04b; --c: #3fc79a; --d: #9aa5b1; --mark: #ff9d85 } }
 text { font: 12px system-ui, "DejaVu Sans", sans-serif; fill: var(--text) }
 .h { font-size: 15px; font-weight: 600 } .t { font-weight: 600 } .q { fill: var(--quiet) }
 .e { text-anchor: end } .m { text-anchor: middle }
 path { fill: none; stroke-width: 1.6 } .g { stroke: var(--rule); stroke-width: 1 }
 .a { stroke: var(--a); stroke-width: 3 } .b { stroke: var(--b); stroke-dasharray: 6 3 }
 .c { stroke: var(--c); stroke-dasharray: 2 3 } .d { stroke: var(--d); stroke-dasharray: 8 3 2 3 }
 .l { paint-order: stroke; stroke: var(--page); stroke-width: 3px }
 .r { fill: var(--a); stroke: none; opacity: .12 } circle { fill: var(--mark); stroke: var(--page) }
)";

std::string escaped(const std::string& text) {
  std::string made;
  for (const char each : text) {
    switch (each) {
      case '&':
        made += "&amp;";
        break;
      case '<':
        made += "&lt;";
        break;
      case '>':
        made += "&gt;";
        break;
      case '"':
        made += "&quot;";
        break;
      default:
        made += static_cast<unsigned char>(each) < 0x20 ? ' ' : each;
    }
  }
  return made;
}

// Where values are drawn in a plot.
class scales {
 public:
  explicit scales(const contour_plot& of)
      : first_(of.contours.front().points.front().first),
        last_(of.contours.front().points.back().first) {}
  double x(double value) const {
    const double inside = std::fmin(std::fmax(value, first_), last_);
    return left + (width - left - right) * std::log(inside / first_) / std::log(last_ / first_);
  }
  static double y(double share) { return top + (height - top - bottom) * (1 - share); }
  double first() const { return first_; }
  double last() const { return last_; }

 private:
  double first_;
  double last_;
};

std::string path_of(const contour& of, const scales& at) {
  std::string made;
  for (const auto& [x, share] : of.points) {
    made += fmt::format("{}{:.1f} {:.1f}", made.empty() ? "M" : "L", at.x(x), scales::y(share));
  }
  return made;
}

std::string drawn(const contour_plot& of, const std::vector<contour_mark>& marks) {
  const scales at(of);
  std::string made =
      fmt::format("<text class=\"t\" x=\"{}\" y=\"18\">{}</text>\n", left, escaped(of.title));
  made += fmt::format("<text class=\"q\" x=\"{}\" y=\"34\">share of updates</text>\n", left);
  for (int tick = 0; tick <= 4; ++tick) {
    const double share = tick / 4.0;
    const double y = scales::y(share);
    made += fmt::format(
        "<path class=\"g\" d=\"M{} {:.1f}H{}\"/><text class=\"e\" x=\"{}\" "
        "y=\"{:.1f}\">{:g}</text>\n",
        left, y, width - right, left - 8, y + 4, share);
  }
  for (double tick = 0.1; tick < 1.01 * at.last(); tick *= 10) {
    if (tick < 0.99 * at.first()) continue;
    made += fmt::format("<text class=\"m\" x=\"{:.1f}\" y=\"{}\">{:g}</text>\n", at.x(tick),
                        height - bottom + 18, tick);
  }
  made += fmt::format("<text class=\"q m\" x=\"{}\" y=\"{}\">{}</text>\n", (left + width) / 2,
                      height - 10, escaped(of.x));
  made += fmt::format("<path class=\"r\" d=\"{}L{:.1f} {:.1f}L{:.1f} {:.1f}z\"/>\n",
                      path_of(of.contours.front(), at), at.x(at.last()), scales::y(0),
                      at.x(at.first()), scales::y(0));
  // The first last, above the others.
  for (std::size_t i = of.contours.size(); i-- > 0;) {
    made += fmt::format("<path class=\"{}\" d=\"{}\"/>\n", classes[i % std::size(classes)],
                        path_of(of.contours[i], at));
  }
  for (const contour_mark& each : marks) {
    const bool is_late = at.x(each.cpus) > width / 2;
    made += fmt::format(
        "<circle r=\"5\" cx=\"{0:.1f}\" cy=\"{1:.1f}\"/><text class=\"l {2}\" x=\"{3:.1f}\" "
        "y=\"{4:.1f}\">{5}</text>\n",
        at.x(each.cpus), scales::y(each.share), is_late ? "e" : "",
        at.x(each.cpus) + (is_late ? -9 : 9), scales::y(each.share) - 5, escaped(each.name));
  }
  return made;
}

}  // namespace

std::string as_svg(const contour_set& of) {
  const double all_width = 2 * width;
  const double all_height = head + 2 * height + foot;
  std::string made = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\">\n<style>{2}</style>\n<path style=\"fill: var(--page)\" d=\"M0 "
      "0H{0}V{1}H0z\"/>\n",
      all_width, all_height, style);
  made += fmt::format("<text class=\"h\" x=\"{}\" y=\"26\">Where RCU is the cheapest: {}</text>\n",
                      left, escaped(of.machine));
  made += fmt::format(
      "<text class=\"q\" x=\"{}\" y=\"46\">In the shaded region, by the formulas of the RCU paper "
      "(6.2), without waits for locks; below by latency, with {} CPUs</text>\n",
      left, of.cpus);
  for (std::size_t i = 0; i < of.plots.size(); ++i) {
    const bool by_cpus = i < 2;
    made +=
        fmt::format("<g transform=\"translate({} {})\">\n{}</g>\n",
                    width * static_cast<double>(i % 2), head + height * static_cast<double>(i / 2),
                    drawn(of.plots[i], by_cpus ? of.marks : std::vector<contour_mark>{}));
  }
  for (std::size_t i = 0; i < std::size(comparisons); ++i) {
    const double x = left + 190 * static_cast<double>(i);
    const double y = all_height - 26;
    made += fmt::format("<path class=\"{}\" d=\"M{} {}h30\"/><text x=\"{}\" y=\"{}\">{}</text>\n",
                        classes[i], x, y - 4, x + 38, y, comparisons[i]);
  }
  return made + "</svg>\n";
}

}  // namespace readmost::simulation
