// When RCU is cheaper than locks: the analytic comparison of RCU (6.2, Figs. 28 and 29).
//
// The paper shows the results and not the formulas, which it leaves to a thesis. These here are
// derived from the costs it describes (sections 1, 3.1 and 6): what an access costs in CPU time all
// over the machine, beyond the work itself, where nobody waits for a lock. Any CPU of n is as
// likely to make the next access, and a share f of the accesses, at random, are updates.
//
// A lock costs `local`, and `transfer` more when another CPU had it last.
//   Spinlock, one for all: another CPU had it last with probability (n - 1) / n, whatever f is.
//       S = local + transfer (n - 1) / n
//   Brlock, one lock for each CPU. Of the accesses that take the lock of a certain CPU, for each
//   one of its own there are (n - 1) f by others, namely their updates. So
//       own     = local + transfer (n - 1) f / (1 + (n - 1) f)
//       other's = local + transfer (1 - f / (1 + (n - 1) f))
//       B = own + f (n - 1) other's
//   RCU: a read costs `read`. An update takes a spinlock that updates alone take, and retires; and
//   it bears its part of a grace period, which costs `grace` and for each further CPU
//   `grace_per_cpu` more. If each CPU makes u updates per grace period, there are u n in one on
//   average; but if there are few, most grace periods have none and do not take place, so that (by
//   Poisson) u n / (1 - exp(-u n)) share one that does.
//       R = (1 - f) read + f (S + retire + (grace + (n - 1) further) (1 - exp(-u n)) / (u n))
//
// With u = 0.1, each update bears a whole grace period up to about 10 CPUs, and less and less from
// then on: where the paper sees the region of RCU shrink and grow again.
#pragma once

#include <cmath>

namespace bench {

// In any unit of time.
struct synchronization_costs {
  double local = 0;        // acquire and release a lock that is in one's own cache
  double transfer = 0;     // more, if it is in another CPU's
  double read = 0;         // enter and leave a read section of RCU
  double retire = 0;       // have something reclaimed later
  double grace = 0;        // a grace period of one CPU
  double grace_work = 0;   // more for each further one: its work,
  double grace_lines = 0;  // and how many lines move, each for `transfer`
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

// The largest share of updates up to which `ours(share)` is at most `theirs(share)`: 0 where it is
// never, 1 where it always is. To within 1e-9.
template <class Ours, class Theirs>
double breakeven(Ours ours, Theirs theirs) {
  const auto is_best = [&](double share) { return ours(share) <= theirs(share); };
  if (!is_best(0)) return 0;
  // By steps that are short where the shares are small, then by halves.
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

// The same costs on a machine to whose CPUs lines come `times` as slowly from others.
inline synchronization_costs with_transfers(synchronization_costs of, double times) {
  of.transfer *= times;
  return of;
}

}  // namespace bench
