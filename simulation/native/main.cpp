// The workloads pairs, write-pairs and mix on real threads, for comparison with the simulated ones:
// scripts/validate-simulation. Takes one turn of everything and prints JSON.
#include <fmt/format.h>
#include <pthread.h>
#include <sched.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <readmost/bravo.hpp>
#include <readmost/shared_mutex.hpp>
#include <rivals/all.hpp>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;

struct request {
  std::vector<unsigned> threads{1, 2};
  unsigned writes_in = 100;
  unsigned milliseconds = 100;
};

// What "glibc-like" stands for.
class glibc_rwlock {
 public:
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }
  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_ = PTHREAD_RWLOCK_INITIALIZER;
};

// Some so many cycles: each addition needs the former one's result.
inline void work(std::uint64_t cycles) {
  std::uint64_t sum = 0;
  for (; cycles != 0; --cycles) asm volatile("add $1, %0" : "+r"(sum));
}

class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}
  std::uint64_t operator()() {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return state_ >> 33;
  }

 private:
  std::uint64_t state_;
};

template <class Lock>
void read(Lock& lock, std::uint64_t inside) {
  lock.lock_shared();
  work(inside);
  lock.unlock_shared();
}
template <class Lock>
void write(Lock& lock, std::uint64_t inside) {
  lock.lock();
  work(inside);
  lock.unlock();
}

// Operations per second of all threads; the time begins when all run.
template <class Operation>
double operations_per_second(unsigned threads, std::chrono::milliseconds time,
                             Operation operation) {
  struct alignas(128) count {
    std::uint64_t value = 0;
  };
  std::vector<count> counts(threads);
  std::atomic<unsigned> running{0};
  std::atomic<int> phase{0};  // 0: warm-up, 1: counts, 2: over
  std::vector<std::thread> all;
  const unsigned cpus = std::max(std::thread::hardware_concurrency(), 1U);
  for (unsigned i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      if (threads <= cpus) {
        cpu_set_t own;
        CPU_ZERO(&own);
        CPU_SET(i, &own);
        sched_setaffinity(0, sizeof own, &own);  // without it the figures only vary more
      }
      random_numbers random(i + 1);
      ++running;
      while (phase.load(std::memory_order_relaxed) == 0) operation(random);
      std::uint64_t done = 0;
      while (phase.load(std::memory_order_relaxed) == 1) {
        operation(random);
        ++done;
      }
      counts[i].value = done;
    });
  }
  while (running != threads) std::this_thread::yield();
  std::this_thread::sleep_for(time / 4);
  const auto start = std::chrono::steady_clock::now();
  phase = 1;
  std::this_thread::sleep_for(time);
  phase = 2;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < threads; ++i) {
    all[i].join();
    sum += counts[i].value;
  }
  return static_cast<double>(sum) / took.count();
}

template <class Lock, auto... Arguments>
void measure(const char* name, const request& asked, nlohmann::json& found) {
  for (const unsigned threads : asked.threads) {
    const auto note = [&](const char* workload, auto operation) {
      alignas(128) Lock lock(Arguments...);
      const double speed =
          operations_per_second(threads, std::chrono::milliseconds(asked.milliseconds),
                                [&](random_numbers& random) { operation(lock, random); });
      found.push_back(
          {{"lock", name}, {"workload", workload}, {"threads", threads}, {"per_second", speed}});
    };
    note("pairs", [](Lock& lock, random_numbers&) { read(lock, 1); });
    note("write-pairs", [](Lock& lock, random_numbers&) { write(lock, 1); });
    note("mix", [&](Lock& lock, random_numbers& random) {
      if (random() % asked.writes_in == 0) {
        write(lock, 100);
      } else {
        read(lock, 100);
      }
      work(100);
    });
  }
}

}  // namespace

int main(int argc, char** argv) {
  request asked;
  CLI::App app("Measures locks as 'readmost simulate' simulates them.");
  app.add_option("--threads", asked.threads)->delimiter(',')->check(CLI::Range(1U, 1024U));
  app.add_option("--writes-in", asked.writes_in)->check(CLI::Range(1U, 1'000'000'000U));
  app.add_option("--milliseconds", asked.milliseconds)->check(CLI::Range(1U, 60'000U));
  CLI11_PARSE(app, argc, argv);

  nlohmann::json found = nlohmann::json::array();
  using readmost::preference;
  measure<readmost::shared_mutex>("readmost", asked, found);
  measure<readmost::shared_mutex, preference::reader>("readmost-reader", asked, found);
  measure<readmost::shared_mutex, preference::phase_fair>("readmost-phase-fair", asked, found);
  measure<glibc_rwlock>("glibc-like", asked, found);
  measure<readmost::bravo<glibc_rwlock>>("bravo-glibc", asked, found);
  measure<readmost::bravo<rivals::pf_q>>("bravo-ba", asked, found);
  rivals::for_each_rival([&]<class Lock>(const char* name) { measure<Lock>(name, asked, found); });
  fmt::print("{}\n", found.dump(1));
}
