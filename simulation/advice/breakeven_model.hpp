// SPDX-License-Identifier: Apache-2.0
// When RCU is cheaper than locks: the analytic comparison of RCU (6.2, Figs. 28 and 29).
//
// The paper shows the results without the formulas, for which it refers to a thesis. The formulas
// here are derived from the costs that it describes (sections 1, 3.1 and 6): the CPU time of an
// access on the whole machine, without the work itself and without waits for locks. Any of n CPUs
// is equally likely to make the next access, and a random share f of the accesses are updates.
//
// A lock costs `local`, and `transfer` more when another CPU had it last.
//   Spinlock, one for all: another CPU had it last with probability (n - 1) / n, whatever f is.
//       S = local + transfer (n - 1) / n
//   Brlock, one lock for each CPU. For each access by the CPU itself, its lock is taken by (n - 1)
//   f others, for their updates. So
//       own     = local + transfer (n - 1) f / (1 + (n - 1) f)
//       other's = local + transfer (1 - f / (1 + (n - 1) f))
//       B = own + f (n - 1) other's
//   RCU: a read costs `read`. An update takes a spinlock that only updates take, and retires; and
//   it bears its part of a grace period, which costs `grace`, and `grace_per_cpu` more for each
//   further CPU. If each CPU makes u updates per grace period, a grace period has u n on average.
//   Where those are few, most grace periods have none and do not take place, so that (by Poisson) u
//   n / (1 - exp(-u n)) updates share one that does.
//       R = (1 - f) read + f (S + retire + (grace + (n - 1) further) (1 - exp(-u n)) / (u n))
//
// With u = 0.1, each update bears a whole grace period up to about 10 CPUs, and less and less of
// one on more CPUs. The region of RCU shrinks up to there, as the paper's does; the paper's then
// grows, while this one levels off, because what a grace period costs grows with the CPUs it asks.
#pragma once

#include <cmath>
#include <string_view>

namespace readmost::simulation {

// In any unit of time.
struct synchronization_costs {
  double local = 0;        // acquire and release a lock in the CPU's own cache
  double transfer = 0;     // added if the lock is in another CPU's cache
  double read = 0;         // enter and leave a read section of RCU
  double retire = 0;       // retire an object
  double grace = 0;        // a grace period of one CPU
  double grace_work = 0;   // added for each further CPU: its work,
  double grace_lines = 0;  // and the number of lines that move, each for `transfer`
};

inline double cost_under_spinlock(const synchronization_costs& of, double cpus) {
  return of.local + of.transfer * (cpus - 1) / cpus;
}

inline double cost_under_brlock(const synchronization_costs& of, double cpus, double updates) {
  const double accesses = 1 + (cpus - 1) * updates;
  const double own = of.local + of.transfer * (cpus - 1) * updates / accesses;
  const double others = of.local + of.transfer * (1 - updates / accesses);
  return own + updates * (cpus - 1) * others;
}

inline double cost_under_rcu(const synchronization_costs& of, double cpus, double updates,
                             double updates_per_grace_period) {
  const double sharing = updates_per_grace_period * cpus;
  const double further = of.grace_work + of.grace_lines * of.transfer;
  const double part = -std::expm1(-sharing) / sharing;
  const double update =
      cost_under_spinlock(of, cpus) + of.retire + (of.grace + (cpus - 1) * further) * part;
  return (1 - updates) * of.read + updates * update;
}

// The largest share of updates up to which `ours(share)` is at most `theirs(share)`, to within
// 1e-9: 0 if it never is, 1 if it always is.
template <class Ours, class Theirs>
double breakeven(Ours ours, Theirs theirs) {
  const auto is_best = [&](double share) { return ours(share) <= theirs(share); };
  if (!is_best(0)) return 0;
  // Growing steps, then bisection.
  double good = 0;
  double bad = 1e-6;
  while (is_best(bad)) {
    good = bad;
    if (bad >= 1) return 1;
    bad = std::fmin(1, bad * 1.05);
  }
  while (bad - good > 1e-9) {
    const double middle = (good + bad) / 2;
    (is_best(middle) ? good : bad) = middle;
  }
  return good;
}

// What is compared: each is cheaper than the other up to a share of updates. Below the first RCU is
// the cheapest of the three.
inline constexpr const char* comparisons[] = {"RCU over both", "RCU over spinlock",
                                              "RCU over brlock", "brlock over spinlock"};

// Up to which share; `rate`: updates for each CPU and grace period.
inline double breakeven_of(std::string_view comparison, const synchronization_costs& of,
                           double cpus, double rate) {
  const auto rcu = [&](double f) { return cost_under_rcu(of, cpus, f, rate); };
  const auto brlock = [&](double f) { return cost_under_brlock(of, cpus, f); };
  const auto spinlock = [&](double) { return cost_under_spinlock(of, cpus); };
  if (comparison == "RCU over spinlock") return breakeven(rcu, spinlock);
  if (comparison == "RCU over brlock") return breakeven(rcu, brlock);
  if (comparison == "brlock over spinlock") return breakeven(brlock, spinlock);
  return breakeven(rcu, [&](double f) { return std::fmin(brlock(f), spinlock(f)); });
}

// Those of the paper's plots.
inline constexpr double contour_cpus[] = {1,  2,  3,  4,   6,   8,   10,  15,
                                          20, 30, 50, 100, 200, 500, 1000};
inline constexpr double contour_rates[] = {0.1, 10};

// In nanoseconds on the paper's machine, a 700 MHz Pentium III, from Table 1 in the slides. That
// has no cost of grace periods: here one takes, on each CPU, the lock that guards the bits of the
// CPUs yet to pass (Fig. 13), and loads the line with its number from memory.
constexpr synchronization_costs pentium_costs() {
  constexpr double instruction = 0.7;
  constexpr double line = 162.4;  // main memory
  synchronization_costs of;
  of.local = 163.7;             // CPU-local lock
  of.transfer = 360.9 - 107.3;  // cmpxchg: on another CPU's line, on an own one
  of.read = 2 * instruction;
  of.retire = 20 * instruction;
  of.grace = of.local;
  of.grace_work = of.local;
  of.grace_lines = (of.transfer + line) / of.transfer;
  return of;
}

// The same costs on a machine on which transfers take `times` as long.
inline synchronization_costs with_transfers(synchronization_costs of, double times) {
  of.transfer *= times;
  return of;
}

}  // namespace readmost::simulation
