// What the examples share: --threads and --seconds, threads that repeat an operation until the time
// is up, and the line that tells how many operations they did per second.
#pragma once

#include <fmt/core.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace examples {

// A check for options. Unlike CLI::Range it refuses "nan".
inline auto number_between(double least, double most) {
  return [least, most](const std::string& text) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    const bool fits = error == std::errc{} && stop == end && number >= least && number <= most;
    return fits ? std::string{}
                : fmt::format("Value {} is not a number from {} to {}", text, least, most);
  };
}

struct settings {
  unsigned threads = 2;
  double seconds = 1;

  void add_options(CLI::App& app) {
    app.add_option("--threads", threads, "How many threads work")
        ->check(CLI::Range(1u, 1024u))
        ->capture_default_str();
    app.add_option("--seconds", seconds, "For how long they work")
        ->check(number_between(0.01, 3600))
        ->capture_default_str();
  }
};

// A value that one thread writes often, on cache lines that no other thread writes.
template <class Value>
struct alignas(128) own_lines {
  Value value{};
};

// A small, fast generator (Marsaglia's xorshift64), so that drawing a number costs less than a
// lock.
class xorshift {
 public:
  explicit xorshift(unsigned thread) : state_{0x9E3779B97F4A7C15u * (thread + 1)} {}

  std::uint64_t operator()() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_;
  }

 private:
  std::uint64_t state_;
};

// Maps 32 random bits to 0 .. bound - 1 without a division.
inline std::uint32_t scaled(std::uint32_t random, std::uint32_t bound) {
  return static_cast<std::uint32_t>((std::uint64_t{random} * bound) >> 32);
}

struct outcome {
  std::vector<std::uint64_t> operations;  // by thread
  double seconds = 0;

  std::uint64_t total() const {
    return std::accumulate(operations.begin(), operations.end(), std::uint64_t{0});
  }
  double per_second() const { return static_cast<double>(total()) / seconds; }
};

// Gives thread i the callable make_operation(i), which it calls again and again until the time is
// up. An operation that throws ends the run, and run() throws what it threw.
template <class MakeOperation>
outcome run(const settings& chosen, MakeOperation make_operation) {
  enum phase { waiting, running, stopped };
  std::atomic<int> now{waiting};
  std::vector<std::uint64_t> operations(chosen.threads);
  std::exception_ptr failure;
  std::mutex failure_mutex;

  const auto work = [&](unsigned thread, auto operation) {
    now.wait(waiting);
    std::uint64_t done = 0;
    try {
      while (now.load(std::memory_order_relaxed) == running) {
        operation();
        ++done;
      }
    } catch (...) {
      const std::lock_guard guard{failure_mutex};
      if (!failure) failure = std::current_exception();
      now = stopped;
    }
    operations[thread] = done;
  };
  const auto enter = [&](phase next) {
    now = next;
    now.notify_all();
  };

  std::vector<std::jthread> threads;
  try {
    for (unsigned thread = 0; thread < chosen.threads; ++thread) {
      threads.emplace_back(work, thread, make_operation(thread));
    }
  } catch (...) {
    enter(stopped);
    throw;
  }
  const auto start = std::chrono::steady_clock::now();
  enter(running);
  std::this_thread::sleep_for(std::chrono::duration<double>(chosen.seconds));
  enter(stopped);
  for (std::jthread& thread : threads) thread.join();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;

  if (failure) std::rethrow_exception(failure);
  return {std::move(operations), elapsed.count()};
}

inline void require(bool holds, const char* what) {
  if (!holds) [[unlikely]] {
    throw std::runtime_error(what);
  }
}

inline void print_throughput(std::string_view name, const outcome& result) {
  fmt::print("{}: {:.0f} operations per second\n", name, result.per_second());
}

// For the catch clause of main.
inline int failed(std::string_view name, const std::exception& error) {
  fmt::print(stderr, "{}: {}\n", name, error.what());
  return 1;
}

}  // namespace examples
