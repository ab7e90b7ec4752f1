// SPDX-License-Identifier: Apache-2.0
// What the simulated machine says about the library, where a change of the library must not change
// it. Each run is in a process of its own, because the library's variables are left as it leaves
// them.
#include "simulation/workloads/workloads.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <sstream>
#include <string>

#include "processes.hpp"
#include "simulation/glibc_like_mutex.hpp"
#include "simulation/glibc_like_rwlock.hpp"
#include "simulation/instruction_counts.hpp"
#include "simulation/locks.hpp"

namespace readmost::simulation {
namespace {

machine_description tiny() {
  std::ifstream in(TINY);
  std::stringstream text;
  text << in.rdbuf();
  return machine_from(text.str(), TINY);
}

// In cycles, operations in the time of all runs, the share of the threads' time in which they run
// instructions, and their accesses to memory.
struct figures {
  double reads = 0, read_median = 0, longest_read = 0, writes = 0, write_median = 0,
         longest_write = 0, awake = 0, accesses = 0;
};

double share_of(const measurement& in, spending what) {
  const double all = std::accumulate(std::begin(in.spent), std::end(in.spent), 0.0);
  return static_cast<double>(in.spent[static_cast<unsigned>(what)]) / all;
}

figures run(const char* workload, const char* lock, workload_options how,
            const machine_description& on = tiny()) {
  figures made;
  model::in_own_processes(
      1, 1, [](std::size_t) { return std::string("the run"); },
      [&](std::size_t) {
        const measurement got = find_workload(workload).run(on, find_contender(lock), how);
        std::stringstream text;
        text << got.reads.count() << ' ' << on.cycles(got.reads.quantile(0.5)) << ' '
             << on.cycles(got.reads.quantile(1)) << ' ' << got.writes.count() << ' '
             << on.cycles(got.writes.quantile(0.5)) << ' ' << on.cycles(got.writes.quantile(1))
             << ' ' << share_of(got, spending::instructions) << ' ' << got.accesses;
        return text.str();
      },
      [&](std::size_t, const std::string& text) {
        std::stringstream(text) >> made.reads >> made.read_median >> made.longest_read >>
            made.writes >> made.write_median >> made.longest_write >> made.awake >> made.accesses;
      });
  return made;
}

machine_description tiny_with_instructions(double cycles) {
  machine_description made = tiny();
  made.instruction = static_cast<duration>(cycles * 1000 / made.ghz);
  return made;
}

workload_options with(unsigned threads, unsigned writes_in = 100) {
  return {.threads = threads, .writes_in = writes_in, .warm_up = 500'000, .time = 1'000'000};
}

TEST(instructions_of_locks, are_known_for_all_that_are_measured) {
  for_each_lock<glibc_like_rwlock, glibc_like_mutex>([]<class Lock, auto...>(const char* name) {
    const instruction_counts* const counts = find_instruction_counts(name);
    ASSERT_NE(counts, nullptr) << name;
    for (const pair_counts& pair : {counts->read, counts->write}) {
      EXPECT_GE(pair.accesses, 2) << name;
      EXPECT_GT(pair.instructions, pair.accesses) << name;
    }
  });
  EXPECT_EQ(find_instruction_counts("no such lock"), nullptr);
}

// A writer does not load the state that it guesses.
TEST(instructions_of_locks, have_as_many_accesses_as_were_counted) {
  const instruction_counts& counts = *find_instruction_counts("readmost");
  const figures reading = run("pairs", "readmost", with(1));
  EXPECT_NEAR(reading.accesses / reading.reads, counts.read.accesses, 0.1);
  const figures writing = run("write-pairs", "readmost", with(1));
  EXPECT_NEAR(writing.accesses / writing.writes, counts.write.accesses, 0.1);
}

// Readmost's readers execute no atomic instruction beside which others could take no time.
TEST(instructions_of_locks, take_their_time) {
  const pair_counts counts = find_instruction_counts("readmost")->read;
  for (const double cycles : {1.0, 2.0}) {
    ASSERT_GE(counts.instructions / counts.accesses * cycles, tiny().cycles(tiny().hit));
    const double all =
        run("pairs", "readmost", with(1), tiny_with_instructions(cycles)).read_median;
    EXPECT_NEAR(all, cycles * counts.instructions, 1) << cycles;
  }
}

TEST(simulated_lock, of_readmost_costs_readers_the_same_beside_others) {
  const figures alone = run("pairs", "readmost", with(1));
  const figures beside = run("pairs", "readmost", with(8));
  EXPECT_EQ(alone.read_median, beside.read_median);
  EXPECT_GT(beside.reads, 7.5 * alone.reads);
}

TEST(simulated_lock, of_glibcs_shape_does_not_scale) {
  EXPECT_LT(run("pairs", "glibc-like", with(8)).reads, run("pairs", "glibc-like", with(1)).reads);
}

// Threads that stay away from a busy lock must not leave it unused.
TEST(simulated_lock, of_readmost_is_not_left_unused_where_many_write) {
  for (const unsigned writes_in : {4U, 10U, 50U}) {
    const figures ours = run("mix", "readmost", with(8, writes_in));
    const figures others = run("mix", "glibc-like", with(8, writes_in));
    EXPECT_GT(ours.reads + ours.writes, 0.6 * (others.reads + others.writes)) << writes_in;
    EXPECT_LT(ours.longest_write, 400'000) << writes_in;
  }
}

// Under reader preference nothing but the turns that they take keeps writers that never pause from
// having a busy lock nearly for themselves.
TEST(simulated_lock, of_readmost_is_used_in_turns_by_those_who_stayed_away) {
  double reads = 0, writes = 0;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    workload_options how = with(4);
    how.warm_up = 2'000'000;
    how.time = 4'000'000;
    how.seed = seed;
    const figures found = run("hash-table-bench", "readmost-reader", how);
    reads += found.reads;
    writes += found.writes;
  }
  EXPECT_GT(reads, writes / 5);
}

// Nor may a thread that the lock waits for stay away: that would be for 1'600'000 cycles.
TEST(simulated_lock, of_readmost_keeps_nobody_out_for_writers_that_are_not_there) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    workload_options how = with(8, 10);
    how.seed = seed;
    EXPECT_LT(run("mix", "readmost", how).longest_write, 200'000) << seed;
  }
  const figures phase_fair = run("mix", "readmost-phase-fair", with(8, 10));
  EXPECT_LT(phase_fair.longest_write, 400'000);
  EXPECT_GT(phase_fair.reads, 800);
}

// Who looks often at the lock spins for as long as who looks rarely, so that the same writes are
// not followed by wake-ups.
TEST(simulated_lock, of_readmost_is_not_slept_for_sooner_by_who_looks_often) {
  const workload_options how{.threads = 8, .warm_up = 300'000, .time = 2'000'000};
  EXPECT_LT(run("wake-up", "readmost", how, find_machine("opteron-6274x4")).read_median, 10'000);
}

// The counts of a run on a machine with 144 CPUs, soon after its start.
figures soon(const char* workload, unsigned threads) {
  return run(workload, "readmost", {.threads = threads, .warm_up = 100'000, .time = 20'000},
             find_machine("e7-8895v3x4"));
}

TEST(simulated_lock, of_readmost_is_biased_before_each_of_many_threads_has_read_often) {
  EXPECT_GT(soon("pairs", 64).reads, 60 * soon("pairs", 1).reads);
}

// Readers that get in each other's way, when they lock and when they unlock, earn the bias back.
TEST(simulated_lock, of_readmost_is_biased_again_soon_after_a_write) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    const auto reads_of = [seed](const char* lock) {
      return run("mix", lock, {.threads = 8, .writes_in = 100, .seed = seed},
                 find_machine("xeon-8375cx2"))
          .reads;
    };
    EXPECT_GT(reads_of("readmost"), 2 * reads_of("ba")) << "seed " << seed;
  }
}

// Readers that find the lock closed must not take its line from one another to credit their reads.
// Under writer preference: where readers are preferred, one seed of six finds writers that starve.
TEST(simulated_lock, of_readmost_is_written_quickly_among_many_readers) {
  const auto reads_of = [](const char* lock, std::uint64_t seed) {
    return run("mix", lock,
               {.threads = 64, .writes_in = 100, .warm_up = 500'000, .time = 500'000, .seed = seed},
               find_machine("e7-8895v3x4"))
        .reads;
  };
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    EXPECT_GT(reads_of("readmost", seed), 2.5 * reads_of("ba", seed)) << "seed " << seed;
  }
}

// While many threads queue for the lock's line, writers that wait and looks at the line that come
// too early must not keep the bias from coming back. By chance it may come late with one seed.
TEST(simulated_lock, of_readmost_has_its_bias_back_among_128_threads) {
  const auto reads_of = [](const char* lock, std::uint64_t seed) {
    return run("mix", lock,
               {.threads = 128,
                .writes_in = 200,
                .inside = 200,
                .pause = 1'000,
                .warm_up = 600'000,
                .time = 300'000,
                .seed = seed},
               find_machine("epyc-7742x2"))
        .reads;
  };
  const double glibc_like = reads_of("glibc-like", 1);
  for (const char* lock : {"readmost", "readmost-reader"}) {
    int times = 0;
    for (const std::uint64_t seed : {1U, 2U, 5U}) times += reads_of(lock, seed) > 3 * glibc_like;
    EXPECT_GE(times, 2) << lock;
  }
}

figures mix_on_xeon(const char* lock, unsigned threads, unsigned writes_in, std::uint64_t seed) {
  return run("mix", lock,
             {.threads = threads,
              .writes_in = writes_in,
              .warm_up = 1'500'000,
              .time = 1'000'000,
              .seed = seed},
             find_machine("xeon-8375cx2"));
}

// Writes that follow one another without a reader between them must not cost the lock its bias, nor
// must all that wait for them sleep at the same time.
TEST(simulated_lock, of_readmost_keeps_up_with_writers_among_128_threads) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    SCOPED_TRACE(seed);
    EXPECT_GT(mix_on_xeon("readmost", 128, 20, seed).reads,
              mix_on_xeon("glibc-like", 128, 20, seed).reads);
    EXPECT_LT(mix_on_xeon("readmost", 128, 100, seed).longest_write, 400'000);
  }
}

// A writer that was woken for the lock must not sleep again because another one was there first:
// the next one would be woken in its place, and all would wait for one wake-up after the other.
TEST(simulated_lock, of_readmost_wakes_few_of_the_writers_among_128_threads) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    EXPECT_GT(mix_on_xeon("readmost", 128, 10, seed).reads,
              1.2 * mix_on_xeon("glibc-like", 128, 10, seed).reads)
        << seed;
  }
}

// A revocation waits for readers that have yet to report, so those must not take the lock's line
// from one another to be counted.
TEST(simulated_lock, of_readmost_revokes_its_bias_as_soon_if_it_is_phase_fair) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    EXPECT_GT(mix_on_xeon("readmost-phase-fair", 64, 1'000, seed).reads,
              0.6 * mix_on_xeon("readmost", 64, 1'000, seed).reads)
        << seed;
  }
}

// Readers that are counted as waiting may lack a CPU, and each phase would be a switch of threads.
TEST(simulated_lock, of_readmost_needs_no_switch_of_threads_for_each_phase) {
  machine_description small = find_machine("xeon-8375cx2");
  small.sockets = 1;
  small.cores_per_cluster = 4;
  small.threads_per_core = 1;
  const auto reads_of = [&](const char* lock) {
    return run("mix", lock,
               {.threads = 16, .writes_in = 10, .warm_up = 8'000'000, .time = 8'000'000}, small)
        .reads;
  };
  EXPECT_GT(reads_of("readmost-phase-fair"), reads_of("glibc-like"));
}

TEST(simulated_lock, of_readmost_has_passive_readers_between_phase_fair_writers) {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    EXPECT_GT(mix_on_xeon("readmost-phase-fair", 64, 100, seed).reads,
              1.4 * mix_on_xeon("glibc-like", 64, 100, seed).reads)
        << seed;
  }
}

machine_description with_stolen_cpus() {
  machine_description shared = find_machine("xeon-8375cx2");
  shared.stolen_share = 0.4;
  shared.stolen_for = 200'000'000;  // 200 us
  return shared;
}

// Revocations that wait for CPUs cost more there than the bias saves (src/lock/bias_trial.hpp).
TEST(simulated_lock, of_readmost_keeps_up_where_a_hypervisor_takes_cpus_away) {
  double ours = 0, others = 0;
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    const workload_options how{
        .threads = 2, .writes_in = 200, .warm_up = 50'000'000, .time = 40'000'000, .seed = seed};
    ours += run("mix", "readmost", how, with_stolen_cpus()).reads;
    others += run("mix", "glibc-like", how, with_stolen_cpus()).reads;
  }
  EXPECT_GT(ours, 0.78 * others);
}

// The trials choose fences there. Without bias it would have 1.4 times as many reads as glibc's.
TEST(simulated_lock, of_readmost_stays_passive_where_a_hypervisor_takes_many_cpus_away) {
  double ours = 0, others = 0;
  for (const std::uint64_t seed : {1, 2}) {
    const workload_options how{
        .threads = 8, .writes_in = 200, .warm_up = 30'000'000, .time = 20'000'000, .seed = seed};
    ours += run("mix", "readmost-reader", how, with_stolen_cpus()).reads;
    others += run("mix", "glibc-like", how, with_stolen_cpus()).reads;
  }
  EXPECT_GT(ours, 2.2 * others);
}

// Where membarrier is missing their holds are fenced, and share no line all the same.
TEST(simulated_lock, of_readmost_has_passive_readers_without_membarrier) {
  machine_description without = find_machine("graviton-3");
  without.refuses_membarrier = true;
  const workload_options how{
      .threads = 8, .writes_in = 1'000, .warm_up = 3'000'000, .time = 3'000'000};
  const double others = run("mix", "glibc-like", how, without).reads;
  for (const char* lock : {"readmost", "readmost-reader"}) {
    EXPECT_GT(run("mix", lock, how, without).reads, 4 * others) << lock;
  }
}

// The CPUs of one core share their caches: two threads get more done there than one that has the
// lock to itself while the other stays away (src/lock/company.hpp).
TEST(simulated_lock, of_readmost_is_used_by_both_threads_of_a_core) {
  for (const unsigned writes_in : {4, 10, 30}) {
    const workload_options how{
        .threads = 2, .writes_in = writes_in, .warm_up = 3'000'000, .time = 3'000'000};
    const machine_description& machine = find_machine("epyc-7742x2");
    const double others = run("mix", "glibc-like", how, machine).reads;
    for (const char* lock : {"readmost", "readmost-reader"}) {
      EXPECT_GT(run("mix", lock, how, machine).reads, 0.95 * others) << lock << ' ' << writes_in;
    }
  }
}

// 64 threads that all have a CPU are not taken for more threads than CPUs.
TEST(simulated_lock, of_readmost_keeps_many_threads_awake_that_have_cpus) {
  workload_options how = with(64, 1'000);
  how.time = 500'000;
  EXPECT_GT(run("mix", "readmost", how, find_machine("xeon-8375cx2")).awake, 0.5);
}

TEST(simulated_lock, of_readmost_is_biased_where_many_want_its_line) {
  const auto reads_of = [](const char* lock) {
    return run("test-rwlock", lock, with(16), find_machine("e5-2699v3x2")).reads;
  };
  EXPECT_GT(reads_of("readmost"), 4 * reads_of("ba"));
}

TEST(simulated_lock, of_readmost_is_not_left_for_a_thread_that_writes_now_and_then) {
  EXPECT_GT(run("test-rwlock", "readmost", with(2)).reads,
            0.1 * run("test-rwlock", "glibc-like", with(2)).reads);
}

TEST(simulated_lock, of_readmost_shares_no_line_at_its_first_use) {
  EXPECT_GT(run("first-reads", "readmost", with(8)).reads,
            6 * run("first-reads", "readmost", with(1)).reads);
  EXPECT_GT(soon("first-reads", 64).reads, 50 * soon("first-reads", 1).reads);
}

// Where a revocation takes longer than threads spin for others: on a machine of many CPUs, here of
// long ways.
TEST(simulated_lock, of_readmost_keeps_readers_awake_during_a_long_revocation) {
  machine_description far = tiny();
  far.cores_per_cluster = 32;
  for (std::size_t i = 1; i < std::size(far.transfer); ++i) far.transfer[i] *= 10;
  far.memory *= 10;
  workload_options how = with(64);
  how.time = 1'500'000;
  EXPECT_GT(run("writer-latency", "readmost", how, far).reads, 1.2e6);
}

// Beside a thread that is inside again and again, each time for longer than a thread spins.
void expect_a_visitor_to_wait_for_one_hold(const char* workload, double figures::* visits,
                                           double figures::* longest_wait) {
  workload_options how = with(2);
  how.time = 30'000'000;
  how.pause = 700'000;
  for (const unsigned inside : {40'000U, 200'000U, 2'000'000U}) {
    how.inside = inside;
    for (const char* lock : {"readmost", "readmost-reader", "readmost-phase-fair"}) {
      const figures of = run(workload, lock, how);
      EXPECT_GT(of.*visits, 10) << lock << ' ' << inside;
      EXPECT_LT(of.*longest_wait, 1.2 * inside + 100'000) << lock << ' ' << inside;
    }
  }
}

TEST(simulated_lock, of_readmost_lets_a_reader_in_after_one_long_write) {
  expect_a_visitor_to_wait_for_one_hold("long-writes", &figures::reads, &figures::longest_read);
}

// A reader that asks again at once stays away from busy locks, but this one is not busy.
TEST(simulated_lock, of_readmost_lets_readers_sleep_during_a_long_write) {
  workload_options how = with(2);
  how.time = 30'000'000;
  how.inside = 2'000'000;
  how.pause = 2'000;
  EXPECT_LT(run("long-writes", "readmost", how).awake, 0.6);  // the writer is half of both
}

TEST(simulated_lock, of_readmost_lets_a_writer_in_after_one_long_read) {
  expect_a_visitor_to_wait_for_one_hold("long-reads", &figures::writes, &figures::longest_write);
}

TEST(simulated_lock, of_readmost_lets_writers_in_among_readers) {
  const figures ours = run("writer-latency", "readmost", with(8));
  EXPECT_GT(ours.writes, 4);
  EXPECT_LT(ours.longest_write, 50'000);
}

TEST(workload, measures_something_with_fewer_cpus_than_threads_and_with_more) {
  for (const workload& each : all_workloads()) {
    for (const unsigned threads : {4U, 12U}) {
      const figures of =
          run(each.name.c_str(), "readmost",
              {.threads = threads, .writes_in = 10, .warm_up = 100'000, .time = 200'000});
      EXPECT_GT(of.reads + of.writes, 0) << each.name << ", " << threads;
    }
  }
}

TEST(workload, alternator_lets_one_thread_read_at_a_time) {
  EXPECT_LT(run("alternator", "readmost", with(8)).reads,
            run("alternator", "readmost", with(1)).reads);
}

TEST(workload, thread_churn_is_survived_by_the_lock) {
  EXPECT_GT(run("thread-churn", "readmost", with(8)).reads, 20 * 8);
}

TEST(workload, hash_table_scales_under_rcu) {
  EXPECT_GT(run("rcu-hash-table", "readmost", with(8)).reads,
            3 * run("rcu-hash-table", "readmost", with(1)).reads);
  EXPECT_GT(run("rcu-hash-table", "readmost", with(8)).reads,
            3 * run("hash-table", "readmost", with(8)).reads);
}

// The store waits in a buffer while its line comes.
TEST(workload, staleness_lasts_as_long_as_a_line_takes) {
  const figures of = run("staleness", "readmost", with(8));
  EXPECT_GT(of.reads, 0);
  EXPECT_LT(of.read_median, 1'000);
}

TEST(simulated_rcu, has_grace_periods_of_a_few_cache_misses) {
  const figures of = run("grace-period", "readmost", with(8));
  EXPECT_GT(of.writes, 50);
  EXPECT_LT(of.write_median, 5'000);
}

// --- What the report's figures ask of the workloads

TEST(workload, rwbench_may_write_most_of_the_time) {
  workload_options how = with(2);
  how.reads_in = 10;
  const figures found = run("rwbench", "ba", how);
  EXPECT_GT(found.writes, 5 * found.reads);
  EXPECT_LT(found.writes, 15 * found.reads);
}

TEST(workload, sleeping_readers_sleep_as_many_as_are_asked_for) {
  double last = 0;
  for (const unsigned asleep : {7U, 4U, 0U}) {
    workload_options how = with(8);
    how.asleep = asleep;
    const double reads = run("sleeping-readers", "readmost", how).reads;
    EXPECT_GT(reads, 1.2 * last) << asleep;
    last = reads;
  }
}

TEST(workload, grace_periods_are_rarer_in_batches) {
  workload_options how = with(8);
  how.batch = 1;
  const double one = run("grace-period", "readmost", how).writes;
  how.batch = 1000;
  const double many = run("grace-period", "readmost", how).writes;
  EXPECT_LT(many, one / 10);
  EXPECT_GT(1000 * many, one);
}

TEST(workload, hash_table_bench_has_two_writers) {
  const figures found = run("hash-table-bench", "per-cpu", with(3));
  EXPECT_GT(found.reads, 0);
  EXPECT_GT(found.writes, 0);
  EXPECT_EQ(run("hash-table-bench", "per-cpu", with(2)).reads, 0);
}

// Where revocations take long, the account knows.
TEST(bravo, does_not_bias_a_lock_whose_revocations_cost_more_than_they_bring) {
  const machine_description many_cores = find_machine("e5-2699v3x2");
  workload_options how = with(2, 10);
  how.warm_up = 4'000'000;
  const double by_account = run("rwbench", "bravo-ba", how, many_cores).reads;
  const double by_time = run("rwbench", "bravo-ba-paper", how, many_cores).reads;
  EXPECT_GT(by_account, 0.8 * by_time);
}

TEST(workload, mix_with_a_table_for_each_lock_has_no_collisions) {
  workload_options how = with(8, 1'000'000'000);
  how.among = 64;
  EXPECT_GT(run("mix", "bravo-ba-own-table", how).reads, run("mix", "bravo-ba-paper", how).reads);
}

}  // namespace
}  // namespace readmost::simulation
