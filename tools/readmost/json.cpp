// SPDX-License-Identifier: Apache-2.0
// All JSON that the command reads and writes: the only source that includes nlohmann/json.hpp,
// which takes seconds to compile.
#include <fmt/chrono.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <system_error>

#include "compare/comparison.hpp"
#include "compare/verdict.hpp"
#include "doctor/examination.hpp"
#include "holders/account.hpp"
#include "machine/calibration.hpp"
#include "open_metrics.hpp"
#include "top/rates.hpp"

// null for nothing.
template <class Value>
struct nlohmann::adl_serializer<std::optional<Value>> {
  template <class Json>
  static void to_json(Json& document, const std::optional<Value>& value) {
    document = value ? Json(*value) : Json(nullptr);
  }
};

namespace readmost::command {

using json = nlohmann::ordered_json;

static void to_json(json& document, const spread& values) {
  document = {{"median", values.median}, {"min", values.min}, {"max", values.max}};
}

static void to_json(json& document, const interval& range) {
  document = {{"low", range.low}, {"high", range.high}, {"confidence", confidence}};
}

static json text_or_null(const std::string& text) {
  return text.empty() ? json(nullptr) : json(text);
}

// A program's words may hold any bytes, JSON only UTF-8.
static std::string text_of(const json& document, int indentation = 2) {
  return document.dump(indentation, ' ', false, json::error_handler_t::replace) + '\n';
}

// --- compare
// --------------------------------------------------------------------------------------

std::string as_json(const comparison& results) {
  const std::optional<std::string> pattern = results.judged_by.pattern();
  const kernel_facts& kernel = results.kernel;
  json document = {
      {"readmost", READMOST_VERSION},
      {"finished", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
      {"command", results.program},
      {"metric", pattern.value_or("wall time")},
      {"better", results.judged_by.lower_is_better() ? "lower" : "higher"},
      {"rounds", results.rounds_asked},
      {"rounds_finished", results.rounds_finished()},
      {"complete", results.problem.empty()},
      {"problem", text_or_null(results.problem)},
      {"host",
       {{"cpus", results.cpus.size()},
        {"kernel", kernel.system + ' ' + kernel.release},
        {"machine", kernel.architecture}}},
      {"baseline", results.locks.front().lock},
      {"locks", json::array()},
  };
  document["doubts"] = doubts(results);
  for (const measurements& lock : results.locks) {
    const std::vector<double> ratios = results.ratios_of(lock);
    const judgement found = judge(results, lock);
    const bool is_judged = &lock != &results.locks.front() && !lock.values.empty();
    document["locks"].push_back({{"lock", lock.lock},
                                 {"library", text_or_null(lock.library)},
                                 {"values", lock.values},
                                 {"seconds", lock.seconds},
                                 {"value", spread_of(lock.values)},
                                 {"ratios", ratios},
                                 {"ratio", spread_of(ratios)},
                                 {"ratio_interval", found.ratio},
                                 {"verdict", is_judged ? json(name_of(found.says)) : json(nullptr)},
                                 {"others", spread_of(lock.others)}});
  }
  return text_of(document);
}

// --- top
// ------------------------------------------------------------------------------------------

static json per_second(const top_counts& counts, double seconds) {
  const auto rate = [&](std::uint64_t count) {
    return std::round(static_cast<double>(count) / seconds * 10) / 10;
  };
  return {
      {"reads", {{"passive", rate(counts.passive_reads)}, {"active", rate(counts.active_reads)}}},
      {"writes", rate(counts.writes)},
      {"revocations", rate(counts.revocations)}};
}

static json waits_as_json(const wait_figures& waits) {
  return {{"count", waits.count}, {"p50", waits.p50}, {"p99", waits.p99}};
}

std::string as_json(top_target& target, const top_rates& rates) {
  json document = {{"program", target.program()},
                   {"pid", target.pid()},
                   {"version", READMOST_VERSION},
                   {"lock", name_of(rates.now.lock)},
                   {"seconds", rates.seconds},
                   {"threads", rates.now.threads},
                   {"per_second", per_second(rates.all, rates.seconds)},
                   {"hottest", rates.now.per_lock ? json::array() : json(nullptr)}};
  if (!rates.now.per_lock) return text_of(document, -1);
  for (const lock_rates& lock : rates.hottest) {
    const std::uintptr_t address = lock.lock - target.core_offset();
    document["hottest"].push_back({{"lock", fmt::format("{:#x}", address)},
                                   {"place", target.place_of(address)},
                                   {"per_second", per_second(lock.counts, rates.seconds)},
                                   {"waits",
                                    {{"readers", waits_as_json(lock.read_waits)},
                                     {"writers", waits_as_json(lock.write_waits)}}}});
  }
  return text_of(document, -1);
}

// --- doctor
// ---------------------------------------------------------------------------------------

static spread spread_from(const json& document) {
  return {document.at("median"), document.at("min"), document.at("max")};
}

static json error_or_null(int error) {
  return error == 0 ? json(nullptr) : json(std::generic_category().message(error));
}

static void to_json(json& document, const lock_costs::together& some) {
  document = {{"threads", some.threads}, {"read", some.read}};
}

static void to_json(json& document, const lock_costs& costs) {
  document = {{"read", costs.read}, {"write", costs.write}, {"read_together", costs.read_together}};
}

static void to_json(json& document, const finding& found) {
  document = {{"obstacle", found.obstacle}, {"text", found.text}};
}

static void to_json(json& document, const synchronization_costs::transfer& pair) {
  document = {{"cpus", {pair.cpu, pair.other}},
              {"nearness", text_or_null(pair.nearness)},
              {"cost", pair.cost}};
}

static void to_json(json& document, const synchronization_costs::fence_of_all& some) {
  document = {
      {"running_threads", some.running}, {"sleeping_threads", some.sleeping}, {"cost", some.cost}};
}

static void to_json(json& document, const synchronization_costs& costs) {
  document = {{"store", costs.store},
              {"fetch_add", costs.fetch_add},
              {"store_and_fence", costs.store_and_fence},
              {"line_transfer", costs.transfers},
              {"membarrier", costs.membarriers},
              {"wake", costs.wake}};
}

static void to_json(json& document, const membarrier_answers& answers) {
  document = {{"private_expedited", answers.offers_private()},
              {"private_expedited_rseq", answers.offers_rseq()},
              {"commands", answers.commands},
              {"kills", answers.killed},
              {"query_error", error_or_null(answers.query_error)},
              {"private_expedited_error", error_or_null(answers.private_error)},
              {"private_expedited_rseq_error", error_or_null(answers.rseq_error)}};
}

static void to_json(json& document, const machine_facts& machine) {
  document = {
      {"kernel", machine.kernel.system + ' ' + machine.kernel.release},
      {"architecture", machine.kernel.architecture},
      {"cpus",
       {{"usable", machine.cpus.usable.size()},
        {"online", machine.cpus.online},
        {"quota", machine.cpus.quota},
        {"numa_nodes", machine.cpus.numa_nodes}}},
      {"membarrier", machine.membarrier},
      {"seccomp_mode", machine.seccomp_mode},
      {"container", text_or_null(machine.container)},
      {"rseq", {{"registered", machine.rseq_registered}, {"offered", machine.rseq_offered}}},
      {"procmap_query", machine.procmap_query},
      {"ptrace_scope", machine.ptrace_scope},
      {"load", machine.load},
      {"taken_by_hypervisor", machine.taken},
  };
}

std::string as_json(const pthread_costs& costs) {
  return text_of({{"provider", costs.provider},
                  {"is_libc", costs.is_libc},
                  {"version", costs.version},
                  {"costs", costs.costs}},
                 -1);
}

std::optional<pthread_costs> pthread_costs_from(const std::string& text) {
  const json document = json::parse(text, nullptr, false);
  if (!document.is_object()) return std::nullopt;
  const json& costs = document.at("costs");
  pthread_costs result{
      document.at("provider"), document.at("is_libc"),
      lock_costs{spread_from(costs.at("read")), spread_from(costs.at("write")), {}},
      document.at("version"), ""};
  for (const json& some : costs.at("read_together")) {
    result.costs->read_together.push_back({some.at("threads"), spread_from(some.at("read"))});
  }
  return result;
}

std::string as_json(const examination& all) {
  const std::vector<finding> findings = meaning_of(all);
  return text_of(
      {{"readmost", READMOST_VERSION},
       {"useful", is_useful(findings)},
       {"machine", all.machine},
       {"library",
        {{"path", text_or_null(all.library)}, {"version", text_or_null(all.preloaded.version)}}},
       {"scheduler_help",
        {{"offered", all.scheduler_help.offered}, {"text", all.scheduler_help.text}}},
       {"nanoseconds", all.costs},
       {"locks",
        {{"glibc", all.glibc.costs},
         {"preloaded", all.preloaded.costs},
         {"readmost::shared_mutex", all.costs.readmost}}},
       {"findings", findings}});
}

// --- doctor --calibrate
// ---------------------------------------------------------------------------

std::string as_machine_file(const calibration& result, const std::string& name) {
  const auto as_figure = [](const calibration::figure& figure) {
    return json{{"value", figure.value}, {"source", figure.source}};
  };
  const cpu_topology& topology = result.topology;
  json document = {{"name", name},
                   {"description", result.description},
                   {"ghz", as_figure(result.figures.front())},
                   {"order", result.order},
                   {"topology",
                    {{"sockets", topology.sockets},
                     {"clusters_per_socket", topology.clusters_per_socket},
                     {"cores_per_cluster", topology.cores_per_cluster},
                     {"threads_per_core", topology.threads_per_core},
                     {"source", result.topology_source}}}};
  for (const calibration::figure& figure : result.figures) {
    const std::size_t dot = figure.name.find('.');
    json& place = dot == std::string::npos
                      ? document[figure.name]
                      : document[figure.name.substr(0, dot)][figure.name.substr(dot + 1)];
    place = as_figure(figure);
  }
  return text_of(document, 1);
}

// --- holders -------------------------------------------------------------------------------------

static json thread_as_json(const account& all, pid_t thread) {
  const auto name = all.found.names.find(thread);
  return {{"id", thread},
          {"name", name != all.found.names.end() ? json(name->second) : json(nullptr)}};
}

static json stack_as_json(const account& all, pid_t thread) {
  const auto found = all.stacks.find(thread);
  return found != all.stacks.end() ? json(found->second) : json(nullptr);
}

// How long ago, and the moment itself, both null if that is not known.
static void add_since(json& document, const account& all, std::uint64_t since) {
  document["since"] = since != 0 ? json(since) : json(nullptr);
  document["nanoseconds"] =
      since != 0 && all.now ? json(*all.now > since ? *all.now - since : 0) : json(nullptr);
}

static json as_document(const account& all, const shown_lock& lock) {
  json document = {{"address", fmt::format("{:#x}", lock.address)},
                   {"place", all.places.at(lock.address)},
                   {"kind", lock.is_pthread ? "pthread_rwlock_t" : "class"},
                   {"mapped", lock.is_there},
                   {"biased", lock.is_biased},
                   {"holders", json::array()},
                   {"unknown_readers", lock.unknown_readers},
                   {"unknown_writer", lock.unknown_writer},
                   {"waiters", json::array()},
                   {"unknown_waiters", lock.unknown_waiters}};
  for (const known_hold& each : lock.holders) {
    json holder = {{"thread", thread_as_json(all, each.thread)}, {"how", name_of(each.how)}};
    add_since(holder, all, each.since);
    holder["taken_in"] = each.taken_in.empty() ? json(nullptr) : json(each.taken_in);
    holder["stack"] = stack_as_json(all, each.thread);
    document["holders"].push_back(std::move(holder));
  }
  for (const known_wait& each : lock.waiters) {
    json waiter = {{"thread", thread_as_json(all, each.thread)},
                   {"wants", name_of(each.what)},
                   {"has_deadline", each.since != 0 && each.has_deadline}};
    add_since(waiter, all, each.since);
    waiter["stack"] = stack_as_json(all, each.thread);
    document["waiters"].push_back(std::move(waiter));
  }
  return document;
}

std::string as_json(const account& all) {
  json document = {{"readmost", READMOST_VERSION},
                   {"program", all.program},
                   {"pid", all.process},
                   {"core", all.is_core},
                   {"threads", all.found.threads},
                   {"left_to", text_or_null(all.found.server)},
                   {"checked", all.found.is_checked},
                   {"all_held_are_known", all.found.all_held_are_known},
                   {"deadlocks", json::array()},
                   {"locks", json::array()}};
  for (const wait_cycle& each : all.found.deadlocks) {
    json cycle = {{"text", as_sentence(all, each)}, {"waits", json::array()}};
    for (const wait_cycle::link& link : each.links) {
      cycle["waits"].push_back({{"thread", thread_as_json(all, link.thread)},
                                {"wants", name_of(link.what)},
                                {"lock", fmt::format("{:#x}", link.lock)}});
    }
    document["deadlocks"].push_back(std::move(cycle));
  }
  for (const shown_lock& each : all.found.locks) {
    document["locks"].push_back(as_document(all, each));
  }
  return text_of(document);
}

// --- OpenMetrics ---------------------------------------------------------------------------------

static double seconds_of(const json& nanoseconds) {
  return static_cast<double>(nanoseconds.get<std::uint64_t>()) / 1e9;
}

static wait_metrics wait_metrics_in(const json& waits) {
  return {waits.at("count").get<std::uint64_t>(), seconds_of(waits.at("total")),
          seconds_of(waits.at("p50")), seconds_of(waits.at("p99")),
          seconds_of(waits.at("longest"))};
}

static lock_metrics lock_metrics_in(const json& lock) {
  lock_metrics m;
  m.passive_reads = lock.at("reads").at("passive").get<std::uint64_t>();
  m.active_reads = lock.at("reads").at("active").get<std::uint64_t>();
  m.writes = lock.at("writes").get<std::uint64_t>();
  const json& revocations = lock.at("revocations");
  for (const char* kind : {"alone", "reports", "membarrier"}) {
    m.revocations += revocations.at(kind).get<std::uint64_t>();
  }
  m.revoking_seconds = seconds_of(revocations.at("nanoseconds"));
  m.longest_write_seconds = seconds_of(lock.at("longest").at("write_hold"));
  m.longest_drain_seconds = seconds_of(lock.at("longest").at("wait_for_readers"));
  m.readers = wait_metrics_in(lock.at("waits").at("readers"));
  m.writers = wait_metrics_in(lock.at("waits").at("writers"));
  return m;
}

// As describe() spells it.
static std::string place_in(const json& place) {
  const std::string mapping =
      place.at("mapping").is_string() ? place.at("mapping").get<std::string>() : "";
  const std::string file = mapping.substr(mapping.rfind('/') + 1);
  if (!place.at("symbol").is_string()) {
    return place.at("offset").is_number()
               ? fmt::format("{}+{:#x}", file, place.at("offset").get<std::uint64_t>())
               : file;
  }
  const auto offset = place.at("symbol_offset").get<std::uint64_t>();
  const auto symbol = place.at("symbol").get<std::string>();
  return offset == 0 ? fmt::format("{} ({})", symbol, file)
                     : fmt::format("{}+{:#x} ({})", symbol, offset, file);
}

static process_metrics process_metrics_in(const json& process) {
  process_metrics m;
  m.program = process.at("program").get<std::string>();
  m.process = process.at("pid").get<int>();
  m.version = process.at("version").get<std::string>();
  m.lock = process.at("lock").get<std::string>();
  m.seconds = process.at("seconds").get<double>();
  m.locks_used = process.at("locks").get<std::uint64_t>();
  m.passive_reads = process.at("reads").at("passive").get<std::uint64_t>();
  m.active_reads = process.at("reads").at("active").get<std::uint64_t>();
  m.writes = process.at("writes").get<std::uint64_t>();
  m.revocations = process.at("revocations").get<std::uint64_t>();
  m.rounds_by_reports = process.at("rounds").at("reports").get<std::uint64_t>();
  m.rounds_by_membarrier = process.at("rounds").at("membarrier").get<std::uint64_t>();
  for (const json& lock : process.value("hottest", json::array())) {
    m.locks.push_back(lock_metrics_in(lock));
    m.locks.back().address = lock.at("lock").get<std::string>();
    m.locks.back().place = place_in(lock.at("place"));
  }
  if (process.contains("others") && process.at("others").at("locks") != 0) {
    m.locks.push_back(lock_metrics_in(process.at("others")));
    m.locks.back().address = "others";
  }
  return m;
}

std::vector<process_metrics> metrics_in_json(const std::string& lines) {
  std::vector<process_metrics> processes;
  std::istringstream all(lines);
  for (std::string line; std::getline(all, line);) {
    const json process = json::parse(line, nullptr, false);
    if (!process.is_discarded()) processes.push_back(process_metrics_in(process));
  }
  return processes;
}

}  // namespace readmost::command
