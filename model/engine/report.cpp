// SPDX-License-Identifier: Apache-2.0
#include "engine/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace readmost::model {

namespace {

// The tables of names below are in the order of their enumerations.

describer names_of_others = nullptr;
value_describer values_of_others = nullptr;

const char* name_of(arithmetic how) noexcept {
  static constexpr const char* names[] = {"exchange", "add", "subtract", "or", "and"};
  return names[static_cast<std::size_t>(how)];
}

}  // namespace

const char* name_of(memory_model model) noexcept {
  static constexpr const char* names[] = {"sc", "tso", "ra"};
  return names[static_cast<std::size_t>(model)];
}

const char* name_of(violation_kind kind) noexcept {
  static constexpr const char* names[] = {"none",         "assertion", "data race",      "deadlock",
                                          "lost wake-up", "livelock",  "use after free", "leak"};
  return names[static_cast<std::size_t>(kind)];
}

const char* name_of(std::memory_order order) noexcept {
  static constexpr const char* names[] = {"relaxed", "consume", "acquire",
                                          "release", "acq_rel", "seq_cst"};
  return names[static_cast<std::size_t>(order)];
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
      return fmt::format("wakes {} of the threads that sleep on {}", what.result, where);
    case kind::preempt:
      return what.success ? "is switched out" : "is not switched out";
    case kind::yield:
      return "looks again";
    case kind::retire:
      return fmt::format("ends the life of {}", where);
    case kind::drain:
      return fmt::format("{} = {} reaches memory", where, value(what.operand));
  }
  return "?";
}

void execution::name(const void* begin, std::size_t bytes, std::string text) {
  if (!recorded_) return;
  names_.push_back({reinterpret_cast<std::uintptr_t>(begin), bytes, std::move(text)});
}

std::string execution::describe(const void* address) const {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  for (const auto& each : names_) {
    if (wanted < each.begin || wanted >= each.begin + each.bytes) continue;
    const std::uintptr_t offset = wanted - each.begin;
    return offset == 0 ? each.text : each.text + "+" + std::to_string(offset);
  }
  return describe_unnamed(*this, wanted);
}

std::string execution::describe_value(const std::string& name, std::uint64_t value) const {
  return describe_value_of(name, value);
}

void execution::record_step(actor who, const operation& what) {
  if (what.what == kind::preempt && !what.success) return;
  recorded_step made;
  made.who = is_buffer(who) ? std::string(threads_[thread_of(who)].name) + "'s buffer"
                            : threads_[who].name;
  made.what = describe_operation(*this, what);
  made.where = is_buffer(who) ? "" : place_in_source(what.at);
  for (unsigned i = 1; i < thread_count_; ++i) {
    const std::string buffered = memory_->buffered(*this, i);
    if (buffered.empty()) continue;
    if (!made.buffers.empty()) made.buffers += "  ";
    made.buffers += std::string(threads_[i].name) + ": " + buffered;
  }
  record_.push_back(std::move(made));
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
    // The last of a thread's steps in a row stands for all of them.
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
