// SPDX-License-Identifier: Apache-2.0
// Machine files: those that come with Readmost are right, and what is wrong with others is said.
#include "simulation/machine_description.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace readmost::simulation {
namespace {

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

TEST(machine_description, of_each_machine_that_comes_with_readmost_is_right) {
  unsigned files = 0;
  for (const auto& each : std::filesystem::directory_iterator(MACHINES)) {
    const machine_description made = machine_from(content_of(each.path()), each.path());
    EXPECT_EQ(made.name + ".json", each.path().filename());
    EXPECT_LE(made.transfer[2], made.transfer[3]) << made.name;
    EXPECT_LE(made.transfer[3], made.transfer[4]) << made.name;
    ++files;
  }
  EXPECT_GE(files, 6U);
}

TEST(machine_description, knows_how_far_cpus_are_from_each_other) {
  machine_description on;
  on.sockets = 2;
  on.clusters_per_socket = 2;
  on.cores_per_cluster = 2;
  on.threads_per_core = 2;
  EXPECT_EQ(on.cpus(), 16U);
  EXPECT_EQ(on.between(3, 3), distance::same_cpu);
  EXPECT_EQ(on.between(2, 3), distance::same_core);
  EXPECT_EQ(on.between(1, 2), distance::same_cluster);
  EXPECT_EQ(on.between(3, 4), distance::same_socket);
  EXPECT_EQ(on.between(7, 8), distance::other_socket);
}

TEST(machine_description, is_in_picoseconds) {
  const machine_description tiny = machine_from(content_of(TINY), "tiny");
  EXPECT_EQ(tiny.transfer[4], 150'000U);  // 300 cycles of 2 GHz
  EXPECT_DOUBLE_EQ(tiny.cycles(tiny.transfer[4]), 300);
}

using nlohmann::json;

void expect_refused(const std::string& text, const std::string& words) {
  try {
    machine_from(text, "FILE");
    ADD_FAILURE() << "not refused: " << words;
  } catch (const std::runtime_error& problem) {
    EXPECT_NE(std::string(problem.what()).find(words), std::string::npos) << problem.what();
    EXPECT_NE(std::string(problem.what()).find("FILE"), std::string::npos) << problem.what();
  }
}

// The tiny machine with a change.
template <class Change>
std::string tiny_but(Change change) {
  json file = json::parse(content_of(TINY));
  change(file);
  return file.dump();
}

TEST(machine_description, may_lack_the_figures_of_cpus_that_are_barely_idle_or_busy) {
  const machine_description without = machine_from(content_of(TINY), "tiny");
  EXPECT_EQ(without.wake_up_soon, 0U);
  EXPECT_EQ(without.futex_wake_busy, 0U);
  const auto with = [](double cycles) {
    return tiny_but([cycles](json& m) {
      m["futex"]["wake_busy"] = {{"value", cycles}, {"source", "estimated: for tests"}};
    });
  };
  EXPECT_EQ(machine_from(with(400), "tiny").futex_wake_busy, 200'000U);
  expect_refused(with(-1), "'futex.wake_busy' is -1");
}

TEST(machine_description, that_is_wrong_is_refused_by_name) {
  expect_refused("{", "no JSON");
  expect_refused(tiny_but([](json& m) { m.erase("name"); }), "'name' is missing");
  expect_refused(tiny_but([](json& m) { m["latency"].erase("memory"); }),
                 "'latency.memory' is missing");
  expect_refused(tiny_but([](json& m) { m.erase("order"); }), "'order' is missing");
  expect_refused(tiny_but([](json& m) { m["order"] = "power"; }),
                 "'order' is 'power'; it must be tso or arm");
  expect_refused(tiny_but([](json& m) { m["order"] = "arm"; }), "'acquire' is missing");
  expect_refused(tiny_but([](json& m) { m["kept"]["value"] = 1.5; }), "'kept' is 1.5");
  expect_refused(
      tiny_but([](json& m) { m["spread"] = {{"value", 1}, {"source", "estimated: for tests"}}; }),
      "'spread' is 1");
  expect_refused(tiny_but([](json& m) { m["fence"]["value"] = -1; }), "'fence' is -1");
  expect_refused(tiny_but([](json& m) { m["fence"]["value"] = "slow"; }), "'fence' has no number");
  expect_refused(tiny_but([](json& m) { m["fence"].erase("source"); }),
                 "'fence' does not say where its value comes from");
  expect_refused(tiny_but([](json& m) { m["ghz"]["value"] = 0; }), "'ghz' is 0");
  expect_refused(tiny_but([](json& m) { m["topology"]["sockets"] = 0; }),
                 "'topology.sockets' is 0");
  expect_refused(tiny_but([](json& m) { m["topology"]["sockets"] = 500; }), "2000 CPUs");
  expect_refused(tiny_but([](json& m) { m["store_buffer"]["entries"]["value"] = 0; }),
                 "'store_buffer.entries' is 0");
  expect_refused(tiny_but([](json& m) { m["fill_buffers"]["value"] = 0; }), "'fill_buffers' is 0");
  expect_refused(tiny_but([](json& m) { m["scheduler"]["slice"]["value"] = 0; }),
                 "no thread would ever run");
}

}  // namespace
}  // namespace readmost::simulation
