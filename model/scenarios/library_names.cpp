// SPDX-License-Identifier: Apache-2.0
#include "scenarios/library_names.hpp"

#include <fmt/format.h>

#include <boost/preprocessor/seq/for_each.hpp>
#include <boost/preprocessor/stringize.hpp>
#include <cstring>
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

// The present value of a variable. Reading it is no step.
template <class T>
std::uintptr_t peek(const platform::variable<T>& of) {
  return static_cast<std::uintptr_t>(execution::current()->plain_value(&of, sizeof(T)));
}

// The record of a thread in a domain. The thread need not be running.
std::uintptr_t own_record(const execution& run, unsigned thread, unsigned domain) {
  if (&run.thread(thread) == &execution::current()->self()) {
    return reinterpret_cast<std::uintptr_t>(own_records[domain]);
  }
  const auto offset = reinterpret_cast<const char*>(&own_records[domain]) - __start_readmost_own;
  std::uintptr_t found = 0;
  std::memcpy(&found, run.thread(thread).own.data() + offset, sizeof found);
  return found;
}

struct member {
  std::size_t offset;
  std::size_t size;
  const char* name;
};

// Calls write(member, index) for the member that the offset lies in.
template <std::size_t Count, class Write>
bool find_member(const member (&members)[Count], std::size_t offset, Write write) {
  for (const member& each : members) {
    if (offset < each.offset || offset >= each.offset + each.size) continue;
    write(each, (offset - each.offset) / sizeof(std::uint64_t));
    return true;
  }
  return false;
}

// Names the members of a type, given as (one)(two)...
#define READMOST_MEMBER(_, type, name) \
  {offsetof(type, name), sizeof(type::name), BOOST_PP_STRINGIZE(name)},
#define READMOST_MEMBERS(type, names) {BOOST_PP_SEQ_FOR_EACH(READMOST_MEMBER, type, names)}

// clang-format off
constexpr member record_members[] = READMOST_MEMBERS(thread_record,
    (held) (seen) (mode) (nested) (idle_rounds) (note) (reads) (section) (retired_latest)
    (uncounted_objects) (uncounted_bytes) (thread) (nested_held) (credited) (noted) (unnoted) (locks_met) (deciding)
    (waiting_in) (waited_for) (waited_until) (in_chunk) (in_index) (writes) (revocations)
    (active_reads) (account_period) (until_account) (moved));

constexpr member chunk_members[] = READMOST_MEMBERS(chunk,
    (used) (retiring) (hazardous) (domain));

constexpr member entry_members[] = READMOST_MEMBERS(index_entry, (present) (records));

constexpr member domain_members[] = READMOST_MEMBERS(domain,
    (version) (drains) (round_cost) (rounds_by_reports)
    (rounds_by_membarrier) (index) (locks_met) (grace_periods) (progress) (waits_for)
    (waits_since) (grace_periods_by_membarrier) (grace_periods_asleep) (counted_sections)
    (counting_phase));

constexpr member reclamation_members[] = READMOST_MEMBERS(reclamation,
    (reclaimer) (in_place) (on_request) (hurried) (policy) (most_objects) (most_bytes) (laziness) (throttled)
    (start_again) (objects) (bytes) (reclaimed) (reclaimed_some) (reclaimer_thread) (stalled_at) (unrecorded_latest)
    (barriers_wanted) (barriers_done) (executor) (current) (current_grace_period) (done)
    (relief) (most_reclaimers) (reclaimer_identity) (moving) (running) (deleters_begun)
    (in_deleter) (replaced) (barriers_begun) (collected_at) (ended_inside));
// clang-format on

#undef READMOST_MEMBERS
#undef READMOST_MEMBER

bool name_in_record(const std::string& whose, std::size_t offset, std::string& name) {
  return find_member(record_members, offset, [&](const member& which, std::size_t index) {
    const bool is_array = which.size > sizeof(std::uint64_t);
    name = is_array ? fmt::format("{} {}[{}]", whose, which.name, index)
                    : fmt::format("{} {}", whose, which.name);
  });
}

// What the variable has contained from the start.
template <class T>
std::uintptr_t initial(const platform::atomic<T*>& of) {
  std::uintptr_t address = 0;
  std::memcpy(&address, &of, sizeof address);
  return address;
}

// The chunk of a domain's records; 0 if none is known.
std::uintptr_t chunk_of(const execution& run, unsigned number) {
  if (number == 0) {
    const auto* const block = reinterpret_cast<const index_block*>(initial(domains[0].index));
    return initial(block->entries[0].records);
  }
  for (unsigned i = 0; i < run.thread_count(); ++i) {
    const std::uintptr_t record = own_record(run, i, number);
    if (record == reinterpret_cast<std::uintptr_t>(&unregistered)) continue;
    return peek(reinterpret_cast<const thread_record*>(record)->in_chunk);
  }
  return 0;
}

bool name_in_index(const execution& run, unsigned number, std::uintptr_t address,
                   std::string& name) {
  const std::uintptr_t first = chunk_of(run, number);
  if (first == 0) return false;
  const std::uintptr_t block =
      number == 0 ? initial(domains[0].index) : first + offsetof(chunk, block);
  if (address < block || address >= block + sizeof(index_block)) return false;
  const std::string called = number == 0 ? "index" : fmt::format("domain {}'s index", number);
  const std::size_t offset = address - block;
  if (offset >= offsetof(index_block, next)) {
    name = called + ".next";
    return true;
  }
  return find_member(
      entry_members, offset % sizeof(index_entry), [&](const member& which, std::size_t) {
        name = fmt::format("{}[{}].{}", called, offset / sizeof(index_entry), which.name);
      });
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
  if (offset >= offsetof(chunk, block)) return false;
  const std::size_t in_records = offset - offsetof(chunk, records);
  return name_in_record(fmt::format("{}record {}'s", prefix, in_records / sizeof(thread_record)),
                        in_records % sizeof(thread_record), name);
}

// Names a member of an array that has one element for each domain.
template <class T, std::size_t Domains, std::size_t Count>
bool name_in_array(const T (&array)[Domains], const member (&members)[Count], const char* called,
                   std::uintptr_t address, std::string& name) {
  const std::size_t offset = address - reinterpret_cast<std::uintptr_t>(&array[0]);
  if (offset >= sizeof array) return false;
  return find_member(members, offset % sizeof(T), [&](const member& which, std::size_t) {
    const std::size_t number = offset / sizeof(T);
    name = number == 0 ? fmt::format("{}.{}", called, which.name)
                       : fmt::format("{} {}.{}", called, number, which.name);
  });
}

bool name_variable(const execution& run, std::uintptr_t address, std::string& name) {
  if (name_in_array(domains, domain_members, "domain", address, name) ||
      name_in_array(all_reclamation, reclamation_members, "reclamation", address, name)) {
    return true;
  }
  const auto nobodys = reinterpret_cast<std::uintptr_t>(&unregistered);
  if (address >= nobodys && address < nobodys + sizeof unregistered) {
    return name_in_record("nobody's", address - nobodys, name);
  }
  for (unsigned i = 0; i < max_domains; ++i) {
    if (name_in_index(run, i, address, name) || name_in_chunk(run, i, address, name)) return true;
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
  add_bit(rwlock::biased_with_statistics, "biased with statistics");
  add_bit(rwlock::biased_by_fences, "biased by fences");
  add_bit(rwlock::writing, "writing");
  add_bit(rwlock::claiming, "claiming");
  add_bit(rwlock::draining, "draining");
  add_bit(rwlock::readers_parked, "readers parked");
  add_bit(rwlock::writers_parked, "writers parked");
  add_bit(rwlock::reader_phase, "readers' phase");
  add_bit(rwlock::upgrading, "upgrading");
  add_bit(rwlock::upgrader_parked, "upgrader parked");
  add_bit(rwlock::handoff, "hand-off");
  add_bit(rwlock::ready, "ready");
  add_bit(rwlock::revoked, "revoked");
  add_bit(rwlock::unnoted, "unnoted");
  add_count(static_cast<std::int64_t>((state & rwlock::waiting_writers) / rwlock::one_writer),
            "waiting writer");
  add_count(
      static_cast<std::int64_t>((state & rwlock::waiting_readers) / rwlock::one_waiting_reader),
      "waiting reader");
  add_count(static_cast<std::int64_t>(rwlock::readers(state)), "reader");
  return joined(words);
}

std::string lock_at(std::uintptr_t address) {
  std::string name = execution::current()->describe(reinterpret_cast<const void*>(address));
  if (name.ends_with(".state")) name.resize(name.size() - std::strlen(".state"));
  return name;
}

std::string hold_in_words(std::uintptr_t held) {
  if (held == 0) return "free";
  return lock_at(held & ~moved_hold) + (is_passive_hold(held) ? "" : ", moved");
}

std::string move_in_words(std::uintptr_t announced) {
  if (announced == 0) return "nothing";
  const bool complete = is_passive_hold(announced);
  return lock_at(announced & ~moved_hold) + (complete ? ", complete" : ", incomplete");
}

std::string mode_in_words(std::uint32_t mode) {
  constexpr const char* names[] = {"offline", "online", "unlisting", "?",
                                   "leaving", "?",      "dormant",   "?"};
  return fmt::format("{}, period {}", names[mode & participation_mask],
                     mode / participation_period);
}

std::string waiting_in_words(std::uintptr_t waiting) {
  constexpr const char* names[] = {"writer", "reader", "upgrader", "counted upgrader",
                                   "next writer"};
  return waiting == 0
             ? "nothing"
             : fmt::format("{}, {}", lock_at(waiting & ~std::uintptr_t{7}), names[waiting & 7]);
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
  for (const char* slots : {" held[", " nested_held[", " noted["}) {
    if (name.find(slots) != name.npos) return hold_in_words(value);
  }
  if (name.find(" moved[") != name.npos) return move_in_words(value);
  if (name.ends_with(" mode")) return mode_in_words(static_cast<std::uint32_t>(value));
  if (name.ends_with(" waiting_in")) return waiting_in_words(value);
  if (name.ends_with(" deciding")) return value == 0 ? "nothing" : lock_at(value);
  if (name.ends_with(" seen")) {
    return (value & 1) != 0 ? fmt::format("{}, holding", value - 1) : fmt::format("{}", value);
  }
  if (name.ends_with(" section")) return section_in_words(value);
  if (name.ends_with(".grace_periods")) return grace_periods_in_words(value);
  if (name.ends_with("].present") || name.ends_with("chunk.used") ||
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
