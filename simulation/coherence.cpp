// SPDX-License-Identifier: Apache-2.0
#include "simulation/coherence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>

namespace readmost::simulation {

namespace {

constexpr std::uintptr_t line_size = 64;

std::uintptr_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address) / line_size;
}

}  // namespace

line& coherence::line_of(const void* address, instant now) {
  line& of = lines_[number_of(address)];
  while (!of.owners.empty() && of.owners.front().until <= now) of.owners.pop_front();
  std::erase_if(of.arriving, [now](const auto& each) { return each.second <= now; });
  return of;
}

const ownership* coherence::usable_by(const line& of, unsigned cpu, instant now) {
  for (const ownership& each : of.owners) {
    if (each.cpu == cpu && now < each.until) return &each;
  }
  return nullptr;
}

duration coherence::take_from_owner(line& of, unsigned cpu, instant start) {
  ownership& last = of.owners.back();
  const duration latency = one_time(on_.transfer_between(cpu, last.cpu));
  last.until = start + kept_of(latency);
  return latency;
}

duration coherence::one_time(duration latency) {
  if (on_.spread == 0) return latency;
  const double differs = on_.spread * (2 * random_.share() - 1);
  return static_cast<duration>(static_cast<double>(latency) * (1 + differs));
}

duration coherence::kept_of(duration latency) {
  const double share = on_.spread == 0 ? on_.kept : std::min(2 * on_.kept * random_.share(), 1.0);
  return static_cast<duration>(static_cast<double>(latency) * share);
}

void coherence::count(line& of, duration waited, std::source_location at) {
  const auto is_same = [&at](const asking_place& each) {
    return each.where.line() == at.line() &&
           std::string_view(each.where.file_name()) == at.file_name();
  };
  auto place = std::ranges::find_if(of.places, is_same);
  if (place == of.places.end()) place = of.places.insert(place, {at, 0, 0});
  ++place->transfers;
  place->waited += waited;
}

served coherence::read(unsigned cpu, const void* address, instant now, std::source_location at) {
  line& of = line_of(address, now);
  if (const ownership* mine = usable_by(of, cpu, now)) {
    const instant start = std::max(now, mine->from);
    return {start, start + on_.hit};
  }
  if (of.copies[cpu]) {
    const auto mine = std::ranges::find(of.arriving, cpu, &std::pair<unsigned, instant>::first);
    const instant start = mine != of.arriving.end() ? mine->second : now;
    return {start, start + on_.hit};
  }
  // A copy is good until the request of who writes has reached it.
  if (of.former[cpu] && now < of.invalidated) return {now, now + on_.hit};
  const instant start = std::max(now, of.busy_until);
  duration latency = on_.memory;
  if (!of.owners.empty() && of.owners.back().until == ownership::for_good) {
    latency = take_from_owner(of, cpu, start);
    of.copies.set(of.owners.back().cpu);
    of.copies.set(cpu);
    of.busy_until = start + latency;
  } else if (of.copies.any()) {
    for (std::size_t i = of.copies._Find_first(); i < most_cpus; i = of.copies._Find_next(i)) {
      latency = std::min(latency, on_.transfer_between(cpu, static_cast<unsigned>(i)));
    }
    latency = one_time(latency);
    of.copies.set(cpu);
  } else {
    of.owners.push_back({cpu, start + latency});
    of.busy_until = start + latency;
  }
  if (of.copies[cpu]) of.arriving.emplace_back(cpu, start + latency);
  count(of, start + latency - now, at);
  return {start + latency, start + latency};
}

served coherence::write(unsigned cpu, const void* address, instant now, duration when_owned,
                        std::source_location at) {
  line& of = line_of(address, now);
  if (const ownership* mine = usable_by(of, cpu, now);
      mine != nullptr && (mine->until != ownership::for_good || !of.copies.any())) {
    const instant start = std::max(now, mine->from);
    return {start, start + when_owned};
  }
  const instant start = std::max(now, of.busy_until);
  duration latency = on_.memory;
  if (!of.owners.empty() && of.owners.back().until == ownership::for_good) {
    latency = take_from_owner(of, cpu, start);
  } else if (of.copies.any()) {
    // All copies are invalidated at once; the farthest answers last.
    latency = when_owned;
    std::uint64_t others = 0;
    for (std::size_t i = of.copies._Find_first(); i < most_cpus; i = of.copies._Find_next(i)) {
      if (i == cpu) continue;
      ++others;
      latency = std::max(latency, on_.transfer_between(cpu, static_cast<unsigned>(i)));
    }
    if (others > 1) latency += (others - 1) * on_.share_more;
    if (others != 0) latency = one_time(latency);
  }
  of.former = of.copies;
  if (!of.owners.empty()) of.former.set(of.owners.back().cpu);
  of.invalidated = start + kept_of(latency);
  of.copies.reset();
  of.arriving.clear();
  of.owners.push_back({cpu, start + latency});
  of.busy_until = start + latency;
  count(of, start + latency - now, at);
  return {start + latency, start + latency};
}

bool coherence::owns(unsigned cpu, const void* address) const {
  const auto found = lines_.find(number_of(address));
  if (found == lines_.end() || found->second.owners.empty()) return false;
  const ownership& last = found->second.owners.back();
  return last.cpu == cpu && last.until == ownership::for_good;
}

bool coherence::has(unsigned cpu, const void* address) const {
  const auto found = lines_.find(number_of(address));
  return found != lines_.end() && (owns(cpu, address) || found->second.copies[cpu]);
}

std::bitset<most_cpus> coherence::copies_before_last_write(const void* address) const {
  const auto found = lines_.find(number_of(address));
  return found == lines_.end() ? std::bitset<most_cpus>{} : found->second.former;
}

std::vector<hot_line> coherence::hottest(std::size_t most) const {
  std::vector<hot_line> all;
  for (const auto& [number, of] : lines_) {
    if (of.places.empty()) continue;
    hot_line& made = all.emplace_back(hot_line{number * line_size, 0, 0, of.places});
    for (const asking_place& each : of.places) {
      made.transfers += each.transfers;
      made.waited += each.waited;
    }
    std::ranges::sort(made.places, std::ranges::greater{}, &asking_place::waited);
  }
  std::ranges::sort(all, [](const hot_line& one, const hot_line& other) {
    return one.waited != other.waited ? one.waited > other.waited : one.address < other.address;
  });
  if (all.size() > most) all.resize(most);
  return all;
}

void coherence::reset_counts() {
  for (auto& [number, of] : lines_) {
    of.places.clear();
  }
}

std::string coherence::fault() const {
  for (const auto& [number, of] : lines_) {
    unsigned for_good = 0;
    for (std::size_t i = 0; i < of.owners.size(); ++i) {
      const ownership& each = of.owners[i];
      if (each.until == ownership::for_good) ++for_good;
      if (i != 0 && each.from < of.owners[i - 1].until) {
        return fmt::format("CPU {} owns line {:#x} while CPU {} does", each.cpu, number * line_size,
                           of.owners[i - 1].cpu);
      }
    }
    if (for_good > 1) return fmt::format("line {:#x} has {} owners", number * line_size, for_good);
    if (for_good == 1 && of.copies.any()) {
      return fmt::format("line {:#x} has an owner and {} copies", number * line_size,
                         of.copies.count());
    }
  }
  return {};
}

}  // namespace readmost::simulation
