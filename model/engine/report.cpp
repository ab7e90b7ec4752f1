#include "engine/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace readmost::model {

namespace {

describer names_of_others = nullptr;
value_describer values_of_others = nullptr;

const char* name_of(arithmetic how) noexcept {
  switch (how) {
    case arithmetic::exchange:
      return "exchange";
    case arithmetic::add:
      return "add";
    case arithmetic::subtract:
      return "subtract";
    case arithmetic::bit_or:
      return "or";
    case arithmetic::bit_and:
      return "and";
  }
  return "?";
}

}  // namespace

const char* name_of(memory_model model) noexcept {
  switch (model) {
    case memory_model::sequential:
      return "sc";
    case memory_model::tso:
      return "tso";
    case memory_model::release_acquire:
      return "ra";
  }
  return "?";
}

const char* name_of(violation_kind kind) noexcept {
  switch (kind) {
    case violation_kind::none:
      return "none";
    case violation_kind::assertion:
      return "assertion";
    case violation_kind::data_race:
      return "data race";
    case violation_kind::deadlock:
      return "deadlock";
    case violation_kind::lost_wake_up:
      return "lost wake-up";
    case violation_kind::livelock:
      return "livelock";
    case violation_kind::use_after_free:
      return "use after free";
    case violation_kind::leak:
      return "leak";
  }
  return "?";
}

const char* name_of(std::memory_order order) noexcept {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_consume:
      return "consume";
    case std::memory_order_acquire:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "?";
}

std::string place_in_source(const std::source_location& at) {
  const std::string_view path = at.file_name();
  const std::size_t slash = path.rfind('/');
  return fmt::format("{}:{}", slash == path.npos ? path : path.substr(slash + 1), at.line());
}

void describe_with(describer names, value_describer values) {
  names_of_others = names;
  values_of_others = values;
}

std::string describe_unnamed(const execution& run, std::uintptr_t address) {
  std::string name;
  if (names_of_others != nullptr && names_of_others(run, address, name)) return name;
  return fmt::format("{:#x}", address);
}

std::string describe_value_of(const std::string& name, std::uint64_t value) {
  std::string text;
  if (values_of_others != nullptr && values_of_others(name, value, text)) return text;
  return value < 4096 ? fmt::format("{}", value) : fmt::format("{:#x}", value);
}

std::string describe_operation(const execution& run, const operation& what) {
  const std::string where =
      what.where != nullptr ? run.describe(reinterpret_cast<const void*>(what.where->address)) : "";
  const auto value = [&](std::uint64_t v) { return run.describe_value(where, v); };
  switch (what.what) {
    case kind::start:
      return "starts";
    case kind::load:
      return fmt::format("load {} {} = {}", where, name_of(what.order), value(what.result));
    case kind::store:
      return fmt::format("store {} {} <- {}", where, name_of(what.order), value(what.operand));
    case kind::update:
      return fmt::format("{} {} {}: {}, was {}", name_of(what.how), where, name_of(what.order),
                         value(what.operand), value(what.result));
    case kind::compare:
      return what.success ? fmt::format("cas {} {}: {} -> {}", where, name_of(what.order),
                                        value(what.expected), value(what.operand))
                          : fmt::format("cas {} {} fails: {}, not {}", where, name_of(what.failure),
                                        value(what.result), value(what.expected));
    case kind::fence:
      return fmt::format("fence {}", name_of(what.order));
    case kind::interrupt:
      return fmt::format("membarrier interrupts {}", run.thread(what.target).name);
    case kind::futex_wait:
      return what.success ? fmt::format("sleeps on {} = {}", where, value(what.expected))
                          : fmt::format("does not sleep: {} = {}, not {}", where,
                                        value(what.result), value(what.expected));
    case kind::awake:
      return what.success ? "is woken" : "wakes at its deadline";
    case kind::futex_wake:
      return fmt::format("wakes {} of those asleep on {}", what.result, where);
    case kind::yield:
      return "looks again";
    case kind::retire:
      return fmt::format("ends the life of {}", where);
    case kind::drain:
      return fmt::format("{} = {} reaches memory", where, value(what.operand));
  }
  return "?";
}

std::string interleaving(const std::vector<recorded_step>& record) {
  std::size_t who = 0;
  std::size_t what = 0;
  std::size_t where = 0;
  for (const auto& step : record) {
    who = std::max(who, step.who.size());
    what = std::max(what, step.what.size());
    where = std::max(where, step.where.size());
  }
  std::string text;
  for (std::size_t i = 0; i < record.size(); ++i) {
    const auto& step = record[i];
    std::string line = fmt::format("{:4}  {:{}}  {:{}}  {:{}}", i + 1, step.who, who, step.what,
                                   what, step.where, where);
    if (!step.buffers.empty()) line += "  [" + step.buffers + "]";
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string to_text(const std::vector<choice>& schedule) {
  std::string text;
  const auto add = [&](const std::string& step) {
    if (!text.empty()) text += ' ';
    text += step;
  };
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const choice& each = schedule[i];
    if (is_buffer(each.who)) {
      add(fmt::format("b{}", thread_of(each.who)));
      continue;
    }
    if (each.outcome != 0) add(fmt::format("{}@{}:{}", each.who, each.access, each.outcome));
    // Of a thread's steps in a row the last says it all.
    if (i + 1 < schedule.size() && schedule[i + 1].who == each.who) continue;
    const std::uint32_t end = std::max(each.access, each.until);
    if (each.outcome == 0 || end > each.access) add(fmt::format("{}@{}", each.who, end));
  }
  return text;
}

std::vector<choice> schedule_from(const std::string& text) {
  std::vector<choice> schedule;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    std::string_view left = word;
    const auto fail = [&] {
      throw std::invalid_argument("schedule: cannot read '" + word +
                                  "'; a step is THREAD@ACCESS, THREAD@ACCESS:OUTCOME or bTHREAD");
    };
    const auto number = [&](std::uint32_t most) {
      std::uint32_t value = 0;
      const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), value);
      if (error != std::errc() || value > most) fail();
      left.remove_prefix(static_cast<std::size_t>(end - left.data()));
      return value;
    };
    const auto follows = [&](char sign) {
      if (!left.starts_with(sign)) return false;
      left.remove_prefix(1);
      return true;
    };
    const bool buffer = follows('b');
    const unsigned thread = number(max_threads - 1);
    if (thread == 0) fail();
    choice step{static_cast<std::uint8_t>(buffer ? buffer_of(thread) : thread)};
    if (!buffer) {
      if (!follows('@')) fail();
      step.access = number(~0U);
      if (follows(':')) step.outcome = static_cast<std::uint16_t>(number(65535));
    }
    if (!left.empty()) fail();
    schedule.push_back(step);
  }
  return schedule;
}

}  // namespace readmost::model
