// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <cerrno>
#include <memory>
#include <optional>
#include <readmost/shared_mutex.hpp>

#include "catalogue.hpp"
#include "rcu_pipeline.hpp"
#include "sections.hpp"

namespace torture {

namespace {

using readmost::rcu_barrier;
using readmost::rcu_default_domain;
using readmost::rcu_domain;
using readmost::separate_rcu_domain;

// --- Readers -------------------------------------------------------------------------------------

template <class Action>
void read_section(worker& me, rcu_pipeline& data, Action meanwhile) {
  me.about_to_read();
  data.domain.lock();
  me.reading();
  data.examine(me, meanwhile);
  data.domain.unlock();
  me.done_reading();
}

// Nests `depth` sections; the inner ones end before the final check of the outermost.
void read_nested(worker& me, rcu_pipeline& data, unsigned depth) {
  read_section(me, data, [&] {
    if (depth > 1) read_nested(me, data, depth - 1);
    spin(me.random.below(300));
  });
}

// Mostly brief sections; some are preempted, asleep or nested.
void read_anyhow(worker& me, rcu_pipeline& data) {
  const unsigned draw = me.random.below(2000);
  if (draw == 0) {
    read_section(me, data, [&] { sleep_microseconds(me.random.between(10, 500)); });
  } else if (draw < 10) {
    read_section(me, data, [] { sched_yield(); });
  } else if (draw < 100) {
    read_nested(me, data, me.random.between(2, 4));
  } else {
    read_section(me, data, [&] { loiter(me); });
  }
}

// --- Writers -------------------------------------------------------------------------------------

// The ways in which a writer waits for a grace period.
enum class way : unsigned { synchronize, expedite, poll, synchronize_since, how_many };

// Keeps the elements of one writer between unlinking and reuse.
class rcu_writer {
 public:
  rcu_writer(worker& me, rcu_pipeline& data) : me_(me), data_(data) {}
  rcu_writer(const rcu_writer&) = delete;
  rcu_writer& operator=(const rcu_writer&) = delete;
  ~rcu_writer() {
    readmost::rcu_synchronize(data_.domain);
    data_.take_back(unlinked_);
  }

  void write(way how) {
    me_.about_to_write();
    unlinked_.push_back(data_.replace());
    await(how);
    me_.writing();
    data_.grow(unlinked_);
    me_.done_writing();
  }
  void write_anyhow() {
    write(static_cast<way>(me_.random.below(static_cast<unsigned>(way::how_many))));
  }

  void write_by_callback() {
    me_.about_to_write();
    data_.age_by_callbacks(data_.replace());
    me_.writing();
    me_.done_writing();
  }

 private:
  void await(way how) {
    rcu_domain& dom = data_.domain;
    switch (how) {
      case way::synchronize:
        return readmost::rcu_synchronize(dom);
      case way::expedite:
        return readmost::rcu_synchronize_expedited(dom);
      case way::poll: {
        const auto ticket = readmost::rcu_start_poll(dom);
        while (!readmost::rcu_poll(ticket, dom)) {
          // A polling thread may be a reader as well.
          me_.random.one_in(4) ? read_anyhow(me_, data_) : spin(200);
        }
        return;
      }
      case way::synchronize_since: {
        const auto ticket = readmost::rcu_start_poll(dom);
        spin(me_.random.below(20'000));
        return readmost::rcu_synchronize_since(ticket, dom);
      }
      case way::how_many:
        return;
    }
  }

  worker& me_;
  rcu_pipeline& data_;
  std::vector<rcu_pipeline::element*> unlinked_;
};

void finish(session& run, const rcu_pipeline& data) {
  run.join();
  fmt::print("  ages seen by readers:");
  for (unsigned age = 1; age <= rcu_pipeline::longest_age; ++age)
    fmt::print(" {}: {}", age, data.seen_at(age));
  fmt::print("\n");
}

// --- Scenarios -----------------------------------------------------------------------------------

// The last `writers` threads write, the others read.
template <class Read, class Write>
void readers_and_writers(session& run, unsigned writers, rcu_domain& dom, Read read, Write write) {
  rcu_pipeline data(dom);
  for (unsigned i = 0; i < run.threads(); ++i) {
    if (i + writers < run.threads()) {
      run.spawn([&](worker& me) {
        while (run.running()) read(me, data);
      });
    } else {
      run.spawn([&](worker& me) {
        rcu_writer writer(me, data);
        while (run.running()) write(me, writer);
      });
    }
  }
  finish(run, data);
}

template <way How>
void one_way(session& run) {
  readers_and_writers(run, 1, rcu_default_domain(), read_anyhow,
                      [](worker& me, rcu_writer& writer) {
                        writer.write(How);
                        if (me.random.one_in(4)) spin(me.random.below(20'000));
                      });
}

void callbacks(session& run) {
  readers_and_writers(run, 1, rcu_default_domain(), read_anyhow,
                      [](worker& me, rcu_writer& writer) {
                        writer.write_by_callback();
                        spin(me.random.below(5000));
                      });
}

// Writers request grace periods while others are in progress.
void many_writers(session& run) {
  readers_and_writers(
      run, run.threads() / 2, rcu_default_domain(),
      [](worker& me, rcu_pipeline& data) {
        read_section(me, data, [&] {
          me.random.one_in(100) ? sleep_microseconds(me.random.between(10, 300))
                                : spin(me.random.below(5000));
        });
      },
      [](worker&, rcu_writer& writer) { writer.write_anyhow(); });
}

// Writers queue more callbacks than the backlog limit allows, so that they have to wait; some also
// hurry reclamation or wait for a barrier.
void callback_floods(session& run) {
  separate_rcu_domain dom;
  readmost::rcu_limit_backlog({.objects = 2048, .bytes = 1 << 20}, dom);
  readers_and_writers(
      run, 2, dom,
      [](worker& me, rcu_pipeline& data) {
        read_section(me, data, [&] {
          if (me.random.one_in(3000)) sleep_microseconds(me.random.between(100, 5000));
        });
      },
      [&](worker& me, rcu_writer& writer) {
        for (unsigned left = me.random.between(1, 3000); left > 0; --left)
          writer.write_by_callback();
        if (me.random.one_in(2)) rcu_barrier(dom);
        if (me.random.one_in(4)) readmost::rcu_hurry(dom);
        if (me.random.one_in(4)) sleep_microseconds(me.random.below(1000));
      });
}

// Everything retired before a barrier, by any thread, is reclaimed when the barrier returns.
template <readmost::reclaiming Who>
void barriers(session& run) {
  separate_rcu_domain dom;
  readmost::rcu_reclaim_by(Who, dom);
  for (unsigned i = 0; i < run.threads(); ++i) {
    run.spawn([&](worker& me) {
      while (run.running()) {
        std::atomic<unsigned> gone{0};
        const auto retire_some = [&](unsigned count) {
          for (; count > 0; --count) {
            readmost::rcu_retire(&gone, [](std::atomic<unsigned>* p) { p->fetch_add(1); }, dom);
          }
        };
        const unsigned own = me.random.below(100);
        const unsigned foreign = me.random.one_in(20) ? 10 : 0;
        retire_some(own);
        if (foreign != 0) std::thread([&] { retire_some(foreign); }).join();
        if (me.random.one_in(2)) {
          me.about_to_read();
          std::scoped_lock section(dom);
          me.done_reading();
        }
        me.about_to_write();
        rcu_barrier(dom);
        me.writing();
        if (gone.load() != own + foreign) me.violation("a barrier did not wait for a callback");
        // If the barrier is broken, the callbacks are still pending and refer to `gone`.
        while (gone.load() != own + foreign) rcu_barrier(dom);
        me.done_writing();
      }
    });
  }
  run.join();
}

// Threads live for a few sections, and some exit inside one.
void thread_churn(session& run) {
  rcu_pipeline data(rcu_default_domain());
  for (unsigned i = 2; i < run.threads(); ++i) {
    run.spawn([&](worker& me) {
      while (run.running()) {
        std::thread([&] {
          const unsigned life = me.random.below(4);
          for (unsigned left = life == 0 ? 500 : life; left > 0; --left) read_anyhow(me, data);
          if (life == 1) rcu_writer(me, data).write_by_callback();
          if (life == 2) data.domain.lock();
        }).join();
      }
    });
  }
  for (unsigned i = 0; i < 2; ++i) {
    run.spawn([&](worker& me) {
      rcu_writer writer(me, data);
      while (run.running()) {
        writer.write_anyhow();
        read_anyhow(me, data);
      }
    });
  }
  finish(run, data);
}

void sleepers(session& run) {
  readers_and_writers(
      run, 1, rcu_default_domain(),
      [](worker& me, rcu_pipeline& data) {
        read_section(me, data, [&] {
          if (me.random.one_in(20)) sleep_microseconds(me.random.between(10, 1000));
        });
        if (me.random.one_in(20)) sleep_microseconds(me.random.between(10, 1000));
      },
      [](worker&, rcu_writer& writer) { writer.write_anyhow(); });
}

void oversubscribed(session& run) {
  readers_and_writers(
      run, 2, rcu_default_domain(),
      [](worker& me, rcu_pipeline& data) {
        read_section(me, data, [&] {
          if (me.random.one_in(16)) sched_yield();
        });
      },
      [](worker& me, rcu_writer& writer) {
        writer.write_anyhow();
        if (me.random.one_in(4)) sched_yield();
      });
}

// Readers move from one processor to another inside sections.
void migrations(session& run) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  pthread_getaffinity_np(pthread_self(), sizeof allowed, &allowed);
  std::vector<unsigned> processors;
  for (unsigned i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed)) processors.push_back(i);
  }
  readers_and_writers(
      run, 1, rcu_default_domain(),
      [&](worker& me, rcu_pipeline& data) {
        read_section(me, data, [&] {
          if (!me.random.one_in(50)) return;
          cpu_set_t next;
          CPU_ZERO(&next);
          CPU_SET(processors[me.random.below(static_cast<unsigned>(processors.size()))], &next);
          pthread_setaffinity_np(pthread_self(), sizeof next, &next);
        });
      },
      [](worker&, rcu_writer& writer) { writer.write_anyhow(); });
}

void nested(session& run) {
  readers_and_writers(
      run, 1, rcu_default_domain(),
      [](worker& me, rcu_pipeline& data) { read_nested(me, data, me.random.between(1, 6)); },
      [](worker&, rcu_writer& writer) { writer.write_anyhow(); });
}

// Readers fill their store buffer with misses before the section, so that the store that publishes
// the section becomes visible long after the loads that follow.
template <way How>
void delayed_stores(session& run) {
  constexpr unsigned lines = 1U << 19;
  struct alignas(64) line {
    std::atomic<std::uint64_t> value{0};
  };
  std::vector<line> far_away(lines);
  readers_and_writers(
      run, 1, rcu_default_domain(),
      [&](worker& me, rcu_pipeline& data) {
        // One section that reports a quiescent state, and one that need not.
        read_section(me, data, [] {});
        for (unsigned stores = me.random.between(8, 56); stores > 0; --stores)
          far_away[me.random.below(lines)].value.store(stores, std::memory_order_relaxed);
        read_section(me, data, [&me] { spin(me.random.below(1000)); });
      },
      [](worker& me, rcu_writer& writer) {
        writer.write(How);
        if (me.random.one_in(2)) spin(me.random.below(500));
      });
}

void idle_threads(session& run) {
  rcu_pipeline data(rcu_default_domain());
  for (unsigned i = 0; i < run.threads(); ++i) {
    run.spawn([&](worker& me) {
      while (run.running()) {
        for (unsigned left = me.random.between(1, 3); left > 0; --left)
          read_section(me, data, [&] { spin(me.random.below(3000)); });
        sleep_microseconds(me.random.one_in(2) ? 20'000 : me.random.between(50, 500));
      }
    });
  }
  for (unsigned i = 0; i < 2; ++i) {
    run.spawn([&](worker& me) {
      rcu_writer writer(me, data);
      while (run.running()) {
        writer.write_anyhow();
        read_anyhow(me, data);
        spin(me.random.below(20'000));
      }
    });
  }
  finish(run, data);
}

// Independent domains: a thread reads in one inside a section of another.
void separate_domains(session& run) {
  separate_rcu_domain first, second;
  rcu_pipeline one(first), other(second), common(rcu_default_domain());
  rcu_pipeline* const all[] = {&one, &other, &common};
  for (unsigned i = 0; i < run.threads(); ++i) {
    run.spawn([&, i](worker& me) {
      std::optional<rcu_writer> writer;
      if (i < 3) writer.emplace(me, *all[i]);
      while (run.running()) {
        rcu_pipeline& outer = *all[me.random.below(3)];
        rcu_pipeline& inner = *all[me.random.below(3)];
        read_section(me, outer, [&] {
          read_section(me, inner, [&] { loiter(me); });
          loiter(me);
        });
        if (writer && me.random.one_in(10)) {
          me.random.one_in(3) ? writer->write_by_callback() : writer->write_anyhow();
        }
      }
    });
  }
  finish(run, common);
}

// Locks of the same domain, whose writers make readers report, also inside RCU sections.
void lock_writers(session& run) {
  rcu_pipeline data(rcu_default_domain());
  cell<readmost::shared_mutex> guarded;
  for (unsigned i = 2; i < run.threads(); ++i) {
    run.spawn([&](worker& me) {
      while (run.running()) {
        read_section(me, data, [&] {
          for (unsigned left = me.random.below(4); left > 0; --left) {
            guarded.lock.lock_shared();
            guarded.data.examine(me, [&] { loiter(me); });
            guarded.lock.unlock_shared();
          }
          spin(me.random.below(1000));
        });
      }
    });
  }
  run.spawn([&](worker& me) {
    rcu_writer writer(me, data);
    while (run.running()) {
      writer.write_anyhow();
      spin(me.random.below(5000));
    }
  });
  run.spawn([&](worker& me) {
    while (run.running()) {
      if (run.read_only()) {
        sleep_microseconds(200);
      } else {
        write(me, guarded);
        spin(me.random.below(5000));
      }
    }
  });
  finish(run, data);
}

// Signal handlers read at a high rate in threads that open, close and nest sections, lead grace
// periods and wait for them.
class interrupted_sections {
 public:
  static void run(session& run) {
    rcu_pipeline data(rcu_default_domain());
    data_ = &data;
    struct sigaction action = {};
    struct sigaction before;
    action.sa_handler = interrupt;
    action.sa_flags = SA_RESTART;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, &before);

    // The threads to interrupt; they stay alive until the thread that sends the signals has
    // stopped.
    std::vector<std::atomic<pthread_t>> targets(run.threads());
    std::atomic<unsigned> ready{0};
    std::atomic<bool> stopped{false};
    for (unsigned i = 0; i < run.threads(); ++i) {
      run.spawn([&, i](worker& me) {
        rcu_writer writer(me, data);
        me_ = &me;
        targets[i].store(pthread_self());
        ready.fetch_add(1);
        while (run.running()) {
          if (i == 0 && me.random.one_in(10)) writer.write_anyhow();
          read_nested(me, data, me.random.between(1, 3));
          if (me.random.one_in(10)) readmost::detail::go_offline();
        }
        while (!stopped.load()) std::this_thread::yield();
        me_ = nullptr;
      });
    }
    run.spawn([&](worker& me) {
      while (ready.load() != run.threads()) std::this_thread::yield();
      while (run.running()) {
        pthread_kill(targets[me.random.below(run.threads())].load(), SIGUSR1);
        spin(me.random.below(10'000));
      }
      stopped.store(true);
    });
    finish(run, data);
    sigaction(SIGUSR1, &before, nullptr);
    data_ = nullptr;
  }

 private:
  static void interrupt(int) {
    worker* const me = me_;
    if (me == nullptr) return;
    const int saved_errno = errno;
    data_->domain.lock();
    data_->examine(*me, [] { spin(300); });
    data_->domain.unlock();
    errno = saved_errno;
  }

  static inline rcu_pipeline* data_ = nullptr;
  static inline thread_local worker* me_ = nullptr;
};

const contribution rcu([](catalogue& all) {
  const auto add = [&](std::string_view name, std::string_view description, unsigned threads,
                       void (*run)(session&)) {
    all.push_back({"rcu", name, description, threads, run});
  };
  using readmost::reclaiming;
  add("synchronize", "one writer that waits", 4, one_way<way::synchronize>);
  add("expedited", "one writer that sends membarriers at once", 4, one_way<way::expedite>);
  add("polled", "one writer that polls, and reads meanwhile", 4, one_way<way::poll>);
  add("since", "one writer that waits for what may be over", 4, one_way<way::synchronize_since>);
  add("callbacks", "one writer whose callbacks follow one another", 4, callbacks);
  add("many-writers", "grace periods shared by writers of all ways", 8, many_writers);
  add("callback-floods", "more callbacks than the backlog takes", 4, callback_floods);
  add("barriers", "barriers that have to be complete", 4, barriers<reclaiming::in_background>);
  add("barriers-in-place", "the same without a thread", 4, barriers<reclaiming::in_place>);
  add("thread-churn", "threads that live for a few sections", 5, thread_churn);
  add("sleepers", "readers that sleep inside and outside", 5, sleepers);
  add("oversubscribed", "more threads than processors, yielding inside", 16, oversubscribed);
  add("migrations", "readers that change processors inside", 4, migrations);
  add("nested", "sections inside sections", 4, nested);
  add("delayed-stores", "readers whose stores become visible late", 2,
      delayed_stores<way::synchronize>);
  add("delayed-stores-expedited", "the same, and nobody waits for their report", 2,
      delayed_stores<way::expedite>);
  add("idle-threads", "threads that read rarely", 32, idle_threads);
  add("separate-domains", "three domains side by side", 5, separate_domains);
  add("lock-writers", "sections with read locks inside, against writers of both", 5, lock_writers);
  add("signals", "signal handlers that read", 3, interrupted_sections::run);
});

}  // namespace

}  // namespace torture
