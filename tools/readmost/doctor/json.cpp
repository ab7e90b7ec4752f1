#include "json.hpp"

#include <fmt/format.h>

#include <system_error>

#include "doctor/examination.hpp"

namespace readmost::command {
namespace {

spread spread_from(const json& document) {
  return {document.at("median"), document.at("min"), document.at("max")};
}

json error_or_null(int error) {
  return error == 0 ? json(nullptr) : json(std::generic_category().message(error));
}

}  // namespace

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
       {"nanoseconds", all.costs},
       {"locks",
        {{"glibc", all.glibc.costs},
         {"preloaded", all.preloaded.costs},
         {"readmost::shared_mutex", all.costs.readmost}}},
       {"findings", findings}});
}

}  // namespace readmost::command
