// SPDX-License-Identifier: Apache-2.0
// The memory models against the literature: each of the classic litmus tests has exactly the
// outcomes that x86-TSO (Owens, Sarkar, Sewell, TPHOLs 2009) and C++20 without load buffering
// (RC11: Lahav, Vafeiadis, Kang, Hur, Dreyer, PLDI 2017; P0668) allow. Names of the tests are those
// of Alglave, Maranget, Tautschnig, Herding Cats, TOPLAS 2014.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <readmost/detail/platform/platform.hpp>
#include <sstream>

#include "engine/explore.hpp"

namespace readmost::model {

namespace {

// Threads are divided by '|', and in each of them stand
//
//   x=1   a store of 1 to x     x     a load of x      x+1   an addition of 1 to x
//
// which are relaxed, or by a letter at the end release (r), acquire (a) or seq_cst (s), and
//
//   Fr, Fa, Far, Fs   fences        L   a compiler fence        M   a membarrier
//   ~     no compiler fence: the last store may move behind the loads that follow
//
// An outcome is what the loads and additions read, in the order of the text, and then the values in
// the end of the locations named after '->'. "all" stands for each combination of what is ever in
// those locations, "all but" for those less the ones named.
struct litmus_test {
  const char* name;
  const char* program;
  const char* sequential;
  const char* tso;
  const char* release_acquire;
};

void PrintTo(const litmus_test& test, std::ostream* to) {
  *to << test.program;
}

constexpr litmus_test tests[] = {
    {"SB", "x=1 y | y=1 x", "all but 00", "all", "all"},
    {"SB_fences", "x=1 Fs y | y=1 Fs x", "all but 00", "all but 00", "all but 00"},
    {"SB_one_fence", "x=1 Fs y | y=1 x", "all but 00", "all", "all"},
    {"SB_weak_fences", "x=1 Far y | y=1 Far x", "all but 00", "all", "all"},
    {"SB_release_acquire", "x=1r ya | y=1r xa", "all but 00", "all", "all"},
    {"SB_seq_cst", "x=1s ys | y=1s xs", "all but 00", "all but 00", "all but 00"},
    {"SB_seq_cst_stores", "x=1s y | y=1s x", "all but 00", "all but 00", "all"},
    {"SB_seq_cst_loads", "x=1 ys | y=1 xs", "all but 00", "all", "all"},
    {"SB_fence_and_seq_cst", "x=1 Fs y | y=1s xs", "all but 00", "all but 00", "all but 00"},
    {"SB_additions", "x+1 y | y+1 x", "0001 0100 0101", "0001 0100 0101", "0000 0001 0100 0101"},
    // An addition to what nobody else touches.
    {"SB_own_addition", "x=1 z+1 y | y=1 Fs x", "001 010 011", "001 010 011", "000 001 010 011"},
    // What the library rests on.
    {"SB_membarrier", "x=1 L y | y=1 M x", "all but 00", "all but 00", "all but 00"},
    {"SB_membarrier_no_compiler_fence", "x=1 ~ y | y=1 M x", "all but 00", "all", "all but 00"},
    {"SB_membarriers", "x=1 M y | y=1 M x", "all but 00", "all but 00", "all but 00"},
    {"SB_membarrier_too_early", "x=1 L y | M y=1 x", "all but 00", "all", "all"},

    {"MP", "x=1 y=1 | y x", "all but 10", "all but 10", "all"},
    {"MP_fences", "x=1 Fs y=1 | y Fs x", "all but 10", "all but 10", "all but 10"},
    {"MP_weak_fences", "x=1 Fr y=1 | y Fa x", "all but 10", "all but 10", "all but 10"},
    {"MP_wrong_fences", "x=1 Fa y=1 | y Fr x", "all but 10", "all but 10", "all"},
    {"MP_release_acquire", "x=1 y=1r | ya x", "all but 10", "all but 10", "all but 10"},
    {"MP_release_only", "x=1 y=1r | y x", "all but 10", "all but 10", "all"},
    {"MP_acquire_only", "x=1 y=1 | ya x", "all but 10", "all but 10", "all"},
    {"MP_release_fence_acquire", "x=1 Fr y=1 | ya x", "all but 10", "all but 10", "all but 10"},
    {"MP_release_acquire_fence", "x=1 y=1r | y Fa x", "all but 10", "all but 10", "all but 10"},
    {"MP_seq_cst", "x=1s y=1s | ys xs", "all but 10", "all but 10", "all but 10"},
    {"MP_membarrier", "x=1 L y=1 | y M x", "all but 10", "all but 10", "all but 10"},
    // The release sequence: who reads 2 reads what continues the release.
    {"MP_addition", "x=1 y=1r | y+1 | ya x", "000 001 010 011 100 101 111 121",
     "000 001 010 011 100 101 111 121", "000 001 010 011 100 101 111 121"},

    {"LB", "x y=1 | y x=1", "all but 11", "all but 11", "all but 11"},
    {"LB_fences", "x Fs y=1 | y Fs x=1", "all but 11", "all but 11", "all but 11"},
    {"LB_release_acquire", "xa y=1r | ya x=1r", "all but 11", "all but 11", "all but 11"},
    {"LB_seq_cst", "xs y=1s | ys x=1s", "all but 11", "all but 11", "all but 11"},

    {"IRIW", "x=1 | y=1 | x y | y x", "all but 1010", "all but 1010", "all"},
    {"IRIW_fences", "x=1 | y=1 | x Fs y | y Fs x", "all but 1010", "all but 1010", "all but 1010"},
    {"IRIW_release_acquire", "x=1r | y=1r | xa ya | ya xa", "all but 1010", "all but 1010", "all"},
    {"IRIW_seq_cst", "x=1s | y=1s | xs ys | ys xs", "all but 1010", "all but 1010", "all but 1010"},
    {"IRIW_seq_cst_loads", "x=1 | y=1 | xs ys | ys xs", "all but 1010", "all but 1010",
     "all but 1010"},

    {"2_2W", "x=1 y=2 | y=1 x=2 -> xy", "12 21 22", "12 21 22", "11 12 21 22"},
    {"2_2W_fences", "x=1 Fs y=2 | y=1 Fs x=2 -> xy", "12 21 22", "12 21 22", "12 21 22"},
    {"2_2W_release", "x=1r y=2r | y=1r x=2r -> xy", "12 21 22", "12 21 22", "11 12 21 22"},
    {"2_2W_seq_cst", "x=1s y=2s | y=1s x=2s -> xy", "12 21 22", "12 21 22", "12 21 22"},

    {"R", "x=1 y=1 | y=2 x -> y", "01 11 12", "01 02 11 12", "01 02 11 12"},
    {"R_fences", "x=1 Fs y=1 | y=2 Fs x -> y", "01 11 12", "01 11 12", "01 11 12"},
    {"R_release_acquire", "x=1 y=1r | y=2r xa -> y", "01 11 12", "01 02 11 12", "01 02 11 12"},
    {"R_seq_cst", "x=1s y=1s | y=2s xs -> y", "01 11 12", "01 11 12", "01 11 12"},

    {"S", "x=2 y=1 | y x=1 -> x", "01 02 11", "01 02 11", "01 02 11 12"},
    {"S_fences", "x=2 Fs y=1 | y Fs x=1 -> x", "01 02 11", "01 02 11", "01 02 11"},
    {"S_release_acquire", "x=2 y=1r | ya x=1 -> x", "01 02 11", "01 02 11", "01 02 11"},
    {"S_seq_cst", "x=2s y=1s | ys x=1s -> x", "01 02 11", "01 02 11", "01 02 11"},

    {"CoRR", "x=1 | x x", "00 01 11", "00 01 11", "00 01 11"},
    {"CoWW", "x=1 x=2 | x -> x", "02 12 22", "02 12 22", "02 12 22"},
    {"CoWR", "x=1 x | x=2 -> x", "11 12 22", "11 12 22", "11 12 22"},
    {"CoRW", "x x=1 | x=2 -> x", "01 02 21", "01 02 21", "01 02 21"},
    {"CoRW_other", "x x=1 | x x=2 -> x", "001 002 012 201", "001 002 012 201", "001 002 012 201"},

    {"WRC", "x=1 | x y=1 | y x", "all but 110", "all but 110", "all"},
    {"WRC_fences", "x=1 | x Fs y=1 | y Fs x", "all but 110", "all but 110", "all but 110"},
    {"WRC_release_acquire", "x=1 | xa y=1r | ya x", "all but 110", "all but 110", "all but 110"},
    {"WRC_seq_cst", "x=1s | xs y=1s | ys xs", "all but 110", "all but 110", "all but 110"},

    {"ISA2", "x=1 y=1 | y z=1 | z x", "all but 110", "all but 110", "all"},
    {"ISA2_fences", "x=1 Fs y=1 | y Fs z=1 | z Fs x", "all but 110", "all but 110", "all but 110"},
    {"ISA2_release_acquire", "x=1 y=1r | ya z=1r | za x", "all but 110", "all but 110",
     "all but 110"},

    {"RWC", "x=1 | x y | y=1 x", "all but 100", "all", "all"},
    {"RWC_fences", "x=1 | x Fs y | y=1 Fs x", "all but 100", "all but 100", "all but 100"},
    {"RWC_one_fence", "x=1 | x y | y=1 Fs x", "all but 100", "all but 100", "all"},
    {"RWC_release_acquire", "x=1r | xa ya | y=1r xa", "all but 100", "all", "all"},
    {"RWC_seq_cst", "x=1s | xs ys | y=1s xs", "all but 100", "all but 100", "all but 100"},
    {"RWC_relaxed_store", "x=1 | xs ys | y=1s xs", "all but 100", "all but 100", "all but 100"},
    {"RWC_membarrier", "x=1 | x L y | y=1 M x", "all but 100", "all but 100", "all but 100"},
};

struct instruction {
  enum class kind : std::uint8_t {
    load,
    store,
    add,
    fence,
    light_fence,
    no_light_fence,
    membarrier
  };
  kind what = kind::load;
  std::memory_order order = platform::relaxed;
  char location = 0;
  unsigned value = 0;
};

struct program {
  std::vector<std::vector<instruction>> threads;
  std::string in_the_end;
};

std::memory_order order_named(const std::string& letters) {
  if (letters.empty()) return platform::relaxed;
  if (letters == "r") return platform::release;
  if (letters == "a") return platform::acquire;
  if (letters == "ar") return platform::acq_rel;
  if (letters == "s") return platform::seq_cst;
  throw std::invalid_argument("no order is called " + letters);
}

instruction parse_instruction(const std::string& word) {
  using enum instruction::kind;
  if (word == "L") return {light_fence};
  if (word == "M") return {membarrier};
  if (word == "~") return {no_light_fence};
  if (word[0] == 'F') return {fence, order_named(word.substr(1))};
  if (word.size() < 3) return {load, order_named(word.substr(1)), word[0]};
  return {word[1] == '+' ? add : store, order_named(word.substr(3)), word[0],
          static_cast<unsigned>(word[2] - '0')};
}

program parse(const char* text) {
  program made{{{}}, ""};
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    if (word == "|") {
      made.threads.emplace_back();
    } else if (word == "->") {
      words >> made.in_the_end;
    } else {
      made.threads.back().push_back(parse_instruction(word));
    }
  }
  return made;
}

using location_of_all = std::array<platform::atomic<unsigned>, 3>;

platform::atomic<unsigned>& location_named(location_of_all& all, char name) {
  return all[static_cast<std::size_t>(name - 'x')];
}

unsigned carry_out(const instruction& each, location_of_all& all) {
  auto& run = *execution::current();
  const auto here = std::source_location::current();
  using enum instruction::kind;
  switch (each.what) {
    case load:
      return location_named(all, each.location).load(each.order);
    case store:
      location_named(all, each.location).store(each.value, each.order);
      break;
    case add:
      return location_named(all, each.location).fetch_add(each.value, each.order);
    case fence:
      run.fence(each.order, here);
      break;
    case light_fence:
      platform::signal_fence();
      break;
    case no_light_fence:
      run.sink_last_store();
      break;
    case membarrier:
      run.membarrier(here);
      break;
  }
  return 0;
}

bool reads(const instruction& each) {
  return each.what == instruction::kind::load || each.what == instruction::kind::add;
}

void describe(const program& of, scenario& s) {
  auto& all = s.make<location_of_all>("x");
  auto& read = s.make<std::array<std::array<unsigned, 4>, 4>>("read");
  for (std::size_t i = 0; i < of.threads.size(); ++i) {
    s.thread("thread", [&, i] {
      for (std::size_t j = 0; j < of.threads[i].size(); ++j) {
        read[i][j] = carry_out(of.threads[i][j], all);
      }
    });
  }
  s.finally([&] {
    std::vector<std::int64_t> outcome;
    for (std::size_t i = 0; i < of.threads.size(); ++i) {
      for (std::size_t j = 0; j < of.threads[i].size(); ++j) {
        if (reads(of.threads[i][j])) outcome.push_back(read[i][j]);
      }
    }
    for (const char name : of.in_the_end) outcome.push_back(location_named(all, name).load());
    s.observe(outcome);
  });
}

// Each combination of what the loads could read if they knew nothing of one another.
std::vector<std::string> all_outcomes(const program& of) {
  std::array<std::string, 3> values{"0", "0", "0"};
  const auto values_of = [&](char name) -> std::string& {
    return values[static_cast<std::size_t>(name - 'x')];
  };
  for (const auto& thread : of.threads) {
    for (const auto& each : thread) {
      if (each.value != 0) values_of(each.location) += static_cast<char>('0' + each.value);
    }
  }
  std::vector<std::string> made{""};
  for (const auto& thread : of.threads) {
    for (const auto& each : thread) {
      if (!reads(each)) continue;
      std::vector<std::string> longer;
      for (const auto& begun : made) {
        for (const char value : values_of(each.location)) longer.push_back(begun + value);
      }
      made = longer;
    }
  }
  return made;
}

std::string expected_outcomes(const program& of, const char* text) {
  std::istringstream words(text);
  std::vector<std::string> outcomes;
  for (std::string word; words >> word;) outcomes.push_back(word);
  if (outcomes.front() == "all") {
    auto all = all_outcomes(of);
    std::erase_if(all, [&](const std::string& each) {
      return std::find(outcomes.begin(), outcomes.end(), each) != outcomes.end();
    });
    outcomes = all;
  }
  std::sort(outcomes.begin(), outcomes.end());
  std::string made;
  for (const auto& each : outcomes) made += each + ' ';
  return made;
}

std::string outcomes_of(const result& explored) {
  std::string made;
  for (const auto& each : explored.outcomes) {
    for (const std::int64_t value : each) made += static_cast<char>('0' + value);
    made += ' ';
  }
  return made;
}

class litmus : public testing::TestWithParam<litmus_test> {};

TEST_P(litmus, has_exactly_these_outcomes) {
  const litmus_test& test = GetParam();
  const program of = parse(test.program);
  const auto check = [&](memory_model memory, const char* expected) {
    for (const search_kind search : {search_kind::exhaustive, search_kind::plain}) {
      exploration how;
      how.memory = memory;
      how.search = search;
      const result explored = explore([&](scenario& s) { describe(of, s); }, how);
      EXPECT_TRUE(explored.complete);
      EXPECT_EQ(outcomes_of(explored), expected_outcomes(of, expected))
          << test.program << ", " << name_of(memory) << ", " << name_of(search);
    }
  };
  check(memory_model::sequential, test.sequential);
  check(memory_model::tso, test.tso);
  check(memory_model::release_acquire, test.release_acquire);
}

INSTANTIATE_TEST_SUITE_P(of_the_literature, litmus, testing::ValuesIn(tests),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace

}  // namespace readmost::model
