// SPDX-License-Identifier: Apache-2.0
// The page that `doctor` prints.
#include <fmt/format.h>
#include <linux/membarrier.h>

#include <optional>
#include <string_view>
#include <system_error>

#include "doctor/examination.hpp"
#include "lines.hpp"
#include "terminal.hpp"

namespace readmost::command {
namespace {

// Adds the words in lines that begin with `first`, then with as many spaces.
void add_wrapped(std::string& page, const std::string& first, const std::string& text) {
  page += wrapped(text, first.size(), page_width, first);
}

// --- This machine -------------------------------------------------------------------------------

void fact(std::string& page, std::string_view name, const std::string& value) {
  add_wrapped(page, fmt::format("  {:<15}", name), value);
}

std::string in_words(const cpu_facts& cpus) {
  std::string text = fmt::format("{} usable of {}", cpus.usable.size(), cpus.online);
  if (cpus.numa_nodes > 0) {
    text += fmt::format(", {} NUMA node{}", cpus.numa_nodes, cpus.numa_nodes == 1 ? "" : "s");
  }
  return text + (cpus.quota ? fmt::format(", {:.3g} granted by the control group", *cpus.quota)
                            : ", no quota");
}

std::string refusal(bool listed, int error) {
  if (!listed) return "not offered";
  return fmt::format("refused ({})", std::generic_category().message(error));
}

std::string in_words(const membarrier_answers& answers) {
  if (answers.killed) return "kills the calling process";
  if (answers.query_error != 0) return refusal(true, answers.query_error);
  const auto answer = [&](unsigned long command, bool offered, int error) {
    return offered ? "yes" : refusal((answers.commands & command) != 0, error);
  };
  return fmt::format(
      "private expedited: {}; its rseq variant: {}",
      answer(MEMBARRIER_CMD_PRIVATE_EXPEDITED, answers.offers_private(), answers.private_error),
      answer(MEMBARRIER_CMD_PRIVATE_EXPEDITED_RSEQ, answers.offers_rseq(), answers.rseq_error));
}

std::string sandbox_of(const machine_facts& machine) {
  const int mode = machine.seccomp_mode.value_or(0);
  return fmt::format("{}, {}",
                     !machine.seccomp_mode ? "seccomp unknown"
                     : mode == 0           ? "no seccomp filter"
                     : mode == 1           ? "strict seccomp"
                                           : "a seccomp filter",
                     machine.container.empty()
                         ? "no sign of a container"
                         : fmt::format("looks like a container ({})", machine.container));
}

std::string rseq_of(const machine_facts& machine) {
  if (machine.rseq_registered == 0) return "not registered by the C library";
  return fmt::format(
      "registered by the C library ({} bytes){}", machine.rseq_registered,
      machine.rseq_offered == 0 ? "" : fmt::format("; the kernel offers {}", machine.rseq_offered));
}

std::string ptrace_of(const machine_facts& machine) {
  if (!machine.ptrace_scope) return "no Yama: you may look into your own processes";
  switch (*machine.ptrace_scope) {
    case 0:
      return "scope 0: you may look into your own processes";
    case 1:
      return "scope 1: into your children only, without root";
    case 2:
      return "scope 2: only with root";
    default:
      return fmt::format("scope {}: into no process", *machine.ptrace_scope);
  }
}

std::string hypervisor_of(double taken) {
  return fmt::format("has taken {:.2g}% of the CPUs' busy time since the machine started",
                     100 * taken);
}

std::string library_of(const examination& all) {
  if (all.library.empty()) return "none";
  return fmt::format(
      "{} ({})", all.library,
      all.preloaded.version.empty() ? "of unknown version" : "version " + all.preloaded.version);
}

std::string as_section(const examination& all) {
  const machine_facts& machine = all.machine;
  std::string page = emphasized("This machine", emphasis::heading) + '\n';
  fact(page, "kernel",
       fmt::format("{} {}, {}", machine.kernel.system, machine.kernel.release,
                   machine.kernel.architecture));
  fact(page, "CPUs", in_words(machine.cpus));
  if (machine.taken) fact(page, "hypervisor", hypervisor_of(*machine.taken));
  fact(page, "membarrier", in_words(machine.membarrier));
  fact(page, "sandbox", sandbox_of(machine));
  fact(page, "rseq", rseq_of(machine));
  fact(page, "PROCMAP_QUERY", machine.procmap_query ? "yes" : "no (Linux 6.11 has it)");
  fact(page, "ptrace", ptrace_of(machine));
  fact(page, "scheduler help", all.scheduler_help.text);
  fact(page, "library", library_of(all));
  return page;
}

// --- Costs --------------------------------------------------------------------------------------

std::string number(double value) {
  return fmt::format("{:.{}f}", value, value < 100 ? 1 : 0);
}

std::string range_of(const spread& cost) {
  return fmt::format("{} to {}", number(cost.min), number(cost.max));
}

void cost_line(std::string& page, const std::string& name, const spread& cost) {
  page += fmt::format("  {:<46}{:>10}  {:>20}\n", name, number(cost.median), range_of(cost));
}

std::string threads_of(const synchronization_costs::fence_of_all& some) {
  if (some.sleeping != 0) return "one other thread, asleep";
  if (some.running == 0) return "no other thread";
  return fmt::format("{} other thread{} running", some.running, some.running == 1 ? "" : "s");
}

std::string as_section(const synchronization_costs& costs) {
  std::string page = emphasized("Costs, nanoseconds", emphasis::heading) +
                     fmt::format("{:28}{:>10}  {:>20}\n", "", "median", "lowest to highest");
  cost_line(page, "store", costs.store);
  cost_line(page, "atomic fetch_add", costs.fetch_add);
  cost_line(page, "store and full fence", costs.store_and_fence);
  for (const synchronization_costs::transfer& pair : costs.transfers) {
    cost_line(page,
              fmt::format("cache line, CPU {} to {}{}", pair.cpu, pair.other,
                          pair.nearness.empty() ? "" : " (" + pair.nearness + ")"),
              pair.cost);
  }
  for (const synchronization_costs::fence_of_all& some : costs.membarriers) {
    cost_line(page, "membarrier, " + threads_of(some), some.cost);
  }
  if (costs.wake) cost_line(page, "from waking a thread until it runs", *costs.wake);
  return page;
}

// The figure of one lock, or a dash if there is none.
std::string cell(const std::optional<lock_costs>& costs, const auto& figure) {
  if (!costs) return fmt::format("{:<20}", "    -");
  const spread& cost = figure(*costs);
  return fmt::format("{:>5}  {:<13}", number(cost.median),
                     fmt::format("{}..{}", number(cost.min), number(cost.max)));
}

std::string locks_of(const examination& all) {
  std::string page =
      emphasized("Lock and unlock", emphasis::heading) +
      fmt::format("{:3}{:<20}{:<20}{}\n", "", "glibc", "preloaded", "readmost::shared_mutex");
  const auto row = [&](const std::string& name, const auto& figure) {
    page += fmt::format("  {:<16}{}{}{}", name, cell(all.glibc.costs, figure),
                        cell(all.preloaded.costs, figure), cell(all.costs.readmost, figure));
    page.erase(page.find_last_not_of(' ') + 1);
    page += '\n';
  };
  row("read, 1 thread", [](const lock_costs& costs) { return costs.read; });
  const std::vector<std::size_t> counts = reader_counts(all.machine.cpus.at_once());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    row(fmt::format("read, {} threads", counts[i]),
        [i](const lock_costs& costs) { return costs.read_together.at(i).read; });
  }
  row("write, 1 thread", [](const lock_costs& costs) { return costs.write; });
  return page;
}

// --- Conclusions --------------------------------------------------------------------------------

std::string as_paragraph(const finding& found) {
  std::string text;
  add_wrapped(text, found.obstacle ? "  ! " : "  - ", found.text);
  return found.obstacle ? emphasized(text, emphasis::bad) : text;
}

}  // namespace

std::string as_page(const examination& all) {
  const std::vector<finding> findings = meaning_of(all);
  std::string page = fmt::format("{}\n{}\n{}\n{}\n", as_section(all), as_section(all.costs),
                                 locks_of(all), emphasized("What it means", emphasis::heading));
  for (const finding& found : findings) page += as_paragraph(found);
  page += is_useful(findings)
              ? "\nReaders can be passive here. 'readmost compare -- PROGRAM' measures what a\n"
                "program gains.\n"
              : "\nReadmost is of no use here until the obstacles marked with ! are removed.\n";
  return page;
}

}  // namespace readmost::command
