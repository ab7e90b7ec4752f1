#include "scenarios/library_names.hpp"

#include <fmt/format.h>

#include <cstring>
#include <iterator>
#include <optional>
#include <readmost/detail/lock/rwlock.hpp>

#include "engine/report.hpp"
#include "rcu/reclamation.hpp"

// The library's thread-local variables: see engine/execution.cpp.
extern "C" {
extern char __start_readmost_own[];
}

namespace readmost::model {

namespace {

// What is at this address now, without a step.
template <class T>
std::uintptr_t peek(const platform::variable<T>& of) {
  return static_cast<std::uintptr_t>(execution::current()->plain_value(&of, sizeof(T)));
}

// The record of a thread in a domain; also while another thread runs.
std::uintptr_t own_record(const execution& run, unsigned thread, unsigned domain) {
  if (&run.thread(thread) == &execution::current()->self()) {
    return reinterpret_cast<std::uintptr_t>(own_records[domain]);
  }
  const auto offset = reinterpret_cast<const char*>(&own_records[domain]) - __start_readmost_own;
  std::uintptr_t found = 0;
  std::memcpy(&found, run.thread(thread).own_data.data() + offset, sizeof found);
  return found;
}

struct member {
  std::size_t offset;
  std::size_t size;
  const char* name;
};

// Calls write(name) for the member of the table that the offset lies in.
template <std::size_t Count, class Write>
bool find_member(const member (&members)[Count], std::size_t offset, Write write) {
  for (const member& each : members) {
    if (offset < each.offset || offset >= each.offset + each.size) continue;
    write(each, (offset - each.offset) / sizeof(std::uint64_t));
    return true;
  }
  return false;
}

#define READMOST_MEMBER(type, name) {offsetof(type, name), sizeof(type::name), #name}

constexpr member record_members[] = {
    READMOST_MEMBER(thread_record, held),
    READMOST_MEMBER(thread_record, seen),
    READMOST_MEMBER(thread_record, mode),
    READMOST_MEMBER(thread_record, elsewhere),
    READMOST_MEMBER(thread_record, idle_rounds),
    READMOST_MEMBER(thread_record, reads),
    READMOST_MEMBER(thread_record, section),
    READMOST_MEMBER(thread_record, retired_latest),
    READMOST_MEMBER(thread_record, uncounted_objects),
    READMOST_MEMBER(thread_record, uncounted_bytes),
    READMOST_MEMBER(thread_record, thread),
    READMOST_MEMBER(thread_record, credited),
    READMOST_MEMBER(thread_record, untracked),
    READMOST_MEMBER(thread_record, deciding),
    READMOST_MEMBER(thread_record, waiting_in),
    READMOST_MEMBER(thread_record, waited_for),
    READMOST_MEMBER(thread_record, waited_until),
    READMOST_MEMBER(thread_record, number),
    READMOST_MEMBER(thread_record, home),
    READMOST_MEMBER(thread_record, writes),
    READMOST_MEMBER(thread_record, revocations),
    READMOST_MEMBER(thread_record, active_reads),
    READMOST_MEMBER(thread_record, reads_elsewhere),
    READMOST_MEMBER(thread_record, active_elsewhere),
    READMOST_MEMBER(thread_record, tallies),
    READMOST_MEMBER(thread_record, timed_lock),
    READMOST_MEMBER(thread_record, timed_since),
};

constexpr member chunk_members[] = {
    READMOST_MEMBER(chunk, present),  READMOST_MEMBER(chunk, used),
    READMOST_MEMBER(chunk, retiring), READMOST_MEMBER(chunk, next),
    READMOST_MEMBER(chunk, domain),
};

constexpr member domain_members[] = {
    READMOST_MEMBER(domain, version),
    READMOST_MEMBER(domain, drain_sleepers),
    READMOST_MEMBER(domain, drain_epoch),
    READMOST_MEMBER(domain, round_cost),
    READMOST_MEMBER(domain, rounds_by_reports),
    READMOST_MEMBER(domain, rounds_by_membarrier),
    READMOST_MEMBER(domain, chunks),
    READMOST_MEMBER(domain, locks_met),
    READMOST_MEMBER(domain, grace_periods),
    READMOST_MEMBER(domain, progress),
    READMOST_MEMBER(domain, waits_for),
    READMOST_MEMBER(domain, waits_since),
    READMOST_MEMBER(domain, grace_periods_by_membarrier),
    READMOST_MEMBER(domain, grace_periods_asleep),
    READMOST_MEMBER(domain, counted_sections),
    READMOST_MEMBER(domain, counting_phase),
};

constexpr member reclamation_members[] = {
    READMOST_MEMBER(reclamation, reclaimer),
    READMOST_MEMBER(reclamation, in_place),
    READMOST_MEMBER(reclamation, hurried),
    READMOST_MEMBER(reclamation, most_objects),
    READMOST_MEMBER(reclamation, most_bytes),
    READMOST_MEMBER(reclamation, throttled),
    READMOST_MEMBER(reclamation, objects),
    READMOST_MEMBER(reclamation, bytes),
    READMOST_MEMBER(reclamation, reclaimed),
    READMOST_MEMBER(reclamation, reclaimed_some),
    READMOST_MEMBER(reclamation, unrecorded_latest),
    READMOST_MEMBER(reclamation, barriers_wanted),
    READMOST_MEMBER(reclamation, barriers_done),
    READMOST_MEMBER(reclamation, executor),
    READMOST_MEMBER(reclamation, current),
    READMOST_MEMBER(reclamation, current_grace_period),
    READMOST_MEMBER(reclamation, done),
    READMOST_MEMBER(reclamation, depth),
};

#undef READMOST_MEMBER

bool name_in_record(const std::string& whose, std::size_t offset, std::string& name) {
  return find_member(record_members, offset, [&](const member& which, std::size_t index) {
    const bool is_array = which.size > sizeof(std::uint64_t);
    name = is_array ? fmt::format("{} {}[{}]", whose, which.name, index)
                    : fmt::format("{} {}", whose, which.name);
  });
}

// The chunk that a domain's records are in, as far as one is known.
std::uintptr_t chunk_of(const execution& run, unsigned number) {
  if (number == 0) {
    // Its address is there from the start.
    std::uintptr_t first = 0;
    std::memcpy(&first, &domains[0].chunks, sizeof first);
    return first;
  }
  for (unsigned i = 0; i < run.thread_count(); ++i) {
    const std::uintptr_t record = own_record(run, i, number);
    if (record == reinterpret_cast<std::uintptr_t>(&unregistered)) continue;
    return peek(reinterpret_cast<const thread_record*>(record)->home);
  }
  return 0;
}

bool name_in_chunk(const execution& run, unsigned number, std::uintptr_t address,
                   std::string& name) {
  const std::string prefix = number == 0 ? "" : fmt::format("domain {}'s ", number);
  for (unsigned i = 0; i < run.thread_count(); ++i) {
    const std::uintptr_t record = own_record(run, i, number);
    if (address < record || address >= record + sizeof(thread_record)) continue;
    if (record == reinterpret_cast<std::uintptr_t>(&unregistered)) continue;
    const std::string in = number == 0 ? "" : fmt::format(" in domain {}", number);
    return name_in_record(fmt::format("{}'s{}", run.thread(i).name, in), address - record, name);
  }
  const std::uintptr_t c = chunk_of(run, number);
  if (address < c || address >= c + sizeof(chunk)) return false;
  const std::size_t offset = address - c;
  if (offset < offsetof(chunk, records)) {
    return find_member(chunk_members, offset, [&](const member& which, std::size_t) {
      name = fmt::format("{}chunk.{}", prefix, which.name);
    });
  }
  const std::size_t in_records = offset - offsetof(chunk, records);
  return name_in_record(fmt::format("{}record {}'s", prefix, in_records / sizeof(thread_record)),
                        in_records % sizeof(thread_record), name);
}

bool name_in_domain(std::uintptr_t address, std::string& name) {
  const auto first = reinterpret_cast<std::uintptr_t>(&domains[0]);
  if (address < first || address >= first + sizeof domains) return false;
  const std::size_t number = (address - first) / sizeof(domain);
  return find_member(domain_members, (address - first) % sizeof(domain),
                     [&](const member& which, std::size_t) {
                       name = number == 0 ? fmt::format("domain.{}", which.name)
                                          : fmt::format("domain {}.{}", number, which.name);
                     });
}

bool name_in_reclamation(std::uintptr_t address, std::string& name) {
  const auto first = reinterpret_cast<std::uintptr_t>(&all_reclamation[0]);
  if (address < first || address >= first + sizeof all_reclamation) return false;
  const std::size_t number = (address - first) / sizeof(reclamation);
  return find_member(reclamation_members, (address - first) % sizeof(reclamation),
                     [&](const member& which, std::size_t) {
                       name = number == 0 ? fmt::format("reclamation.{}", which.name)
                                          : fmt::format("reclamation {}.{}", number, which.name);
                     });
}

bool name_variable(const execution& run, std::uintptr_t address, std::string& name) {
  if (name_in_domain(address, name) || name_in_reclamation(address, name)) return true;
  const auto nobodys = reinterpret_cast<std::uintptr_t>(&unregistered);
  if (address >= nobodys && address < nobodys + sizeof unregistered) {
    return name_in_record("nobody's", address - nobodys, name);
  }
  for (unsigned i = 0; i < max_domains; ++i) {
    if (name_in_chunk(run, i, address, name)) return true;
  }
  return false;
}

// --- Values ------------------------------------------------------------------------------------

std::string joined(const std::vector<std::string>& words) {
  return words.empty() ? "nothing" : fmt::format("{}", fmt::join(words, "|"));
}

std::string state_in_words(std::uint64_t state) {
  std::vector<std::string> words;
  const auto add_bit = [&](std::uint64_t bit, const char* name) {
    if ((state & bit) != 0) words.emplace_back(name);
  };
  const auto add_count = [&](std::int64_t count, const char* name) {
    if (count != 0) words.push_back(fmt::format("{} {}{}", count, name, count == 1 ? "" : "s"));
  };
  add_bit(rwlock::biased, "biased");
  add_bit(rwlock::writing, "writing");
  add_bit(rwlock::draining, "draining");
  add_bit(rwlock::readers_parked, "readers parked");
  add_bit(rwlock::writers_parked, "writers parked");
  add_bit(rwlock::readers_turn, "readers' turn");
  add_bit(rwlock::upgrading, "upgrading");
  add_bit(rwlock::upgrader_parked, "upgrader parked");
  add_count(static_cast<std::int64_t>((state & rwlock::waiting_writers) / rwlock::one_writer),
            "waiting writer");
  add_count(
      static_cast<std::int64_t>((state & rwlock::waiting_readers) / rwlock::one_waiting_reader),
      "waiting reader");
  add_count(rwlock::readers(state), "reader");
  return joined(words);
}

std::string lock_at(std::uintptr_t address) {
  std::string name = execution::current()->describe(reinterpret_cast<const void*>(address));
  if (name.ends_with(".state")) name.resize(name.size() - std::strlen(".state"));
  return name;
}

std::string hold_in_words(std::uintptr_t held) {
  if (held == 0) return "free";
  const std::uintptr_t lock = held & ~(held_active | held_free);
  if (is_free(held)) return lock == 0 ? "free" : "free, last " + lock_at(lock);
  return lock_at(lock) + (is_passive_hold(held) ? ", passive" : ", active");
}

std::string mode_in_words(std::uint32_t mode) {
  constexpr const char* names[] = {"offline", "retiring", "leaving", "dormant", "online"};
  const auto which = static_cast<std::size_t>(participation_of(mode));
  return fmt::format("{}, period {}", which < std::size(names) ? names[which] : "?",
                     mode / participation_period);
}

std::string waiting_in_words(std::uintptr_t waiting) {
  constexpr const char* names[] = {"writer", "reader", "upgrader", "counted upgrader"};
  return waiting == 0 ? "nothing"
                      : fmt::format("{}, {}", lock_at(waiting & ~3U), names[waiting & 3]);
}

std::string grant_in_words(std::uint64_t grant) {
  return grant == rwlock::not_granted ? "not granted"
         : grant == rwlock::granted   ? "granted"
                                      : "granted by revocation";
}

std::string records_in_words(std::uint64_t records) {
  std::vector<std::string> words;
  for (; records != 0; records &= records - 1) {
    words.push_back(std::to_string(__builtin_ctzll(records)));
  }
  return "{" + fmt::format("{}", fmt::join(words, ", ")) + "}";
}

std::string section_in_words(std::uint64_t section) {
  std::vector<std::string> words;
  if (is_open(section)) words.push_back(fmt::format("nested {}", section & section_nesting));
  if (counted_at(section) != 0) {
    words.push_back(fmt::format("counted at {} in phase {}", counted_at(section),
                                (section & section_counted_in_second) != 0 ? 1 : 0));
  }
  if ((section & section_checked) != 0) words.emplace_back("checked");
  return words.empty() ? "none" : fmt::format("{}", fmt::join(words, ", "));
}

std::string grace_periods_in_words(std::uint64_t word) {
  std::string text = std::to_string(word / one_grace_period);
  if ((word & grace_period_begun) != 0) text += ", one begun";
  if ((word & grace_period_led) != 0) text += ", led";
  if ((word & grace_period_awaited) != 0) text += ", awaited";
  return text;
}

std::optional<std::string> value_in_words(const std::string& name, std::uint64_t value) {
  if (name.ends_with(".state")) return state_in_words(value);
  if (name.ends_with(".grant")) return grant_in_words(value);
  if (name.find(" held[") != name.npos) return hold_in_words(value);
  if (name.ends_with(" mode")) return mode_in_words(static_cast<std::uint32_t>(value));
  if (name.ends_with(" waiting_in")) return waiting_in_words(value);
  if (name.ends_with(" deciding")) return value == 0 ? "nothing" : lock_at(value);
  if (name.ends_with(" seen")) {
    return (value & 1) != 0 ? fmt::format("{}, holding", value - 1) : fmt::format("{}", value);
  }
  if (name.ends_with(" section")) return section_in_words(value);
  if (name.ends_with(".grace_periods")) return grace_periods_in_words(value);
  if (name.ends_with("chunk.present") || name.ends_with("chunk.used") ||
      name.ends_with("chunk.retiring")) {
    return records_in_words(value);
  }
  return std::nullopt;
}

bool describe_value(const std::string& name, std::uint64_t value, std::string& text) {
  const auto words = value_in_words(name, value);
  if (words) text = *words;
  return words.has_value();
}

}  // namespace

void name_library_variables() {
  describe_with(name_variable, describe_value);
}

}  // namespace readmost::model
