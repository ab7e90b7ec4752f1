// SPDX-License-Identifier: Apache-2.0
// Shared by the examples: options, threads that repeat an operation until the time is up, and the
// line that says how many operations per second they did.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace examples {

struct settings {
  unsigned threads = 2;
  double seconds = 1;
};

// A number from `least` to `most`, or a text. The value is the default until it is parsed.
struct option {
  const char* name;
  std::variant<unsigned*, double*, std::string*> value;
  const char* description;
  double least = 0;
  double most = 4e9;
};

struct outcome {
  std::vector<std::uint64_t> operations;  // by thread
  double seconds = 0;
  std::string remark{};  // printed behind the operations per second
};

struct program {
  const char* name;
  const char* description;
  std::vector<option> options{};  // besides --threads and --seconds

  // Parses the options, calls `measure` and prints its outcome or the message of an exception that
  // it throws. Returns the exit status.
  int main(int argc, char** argv, const std::function<outcome(const settings&)>& measure) const;
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

// Gives thread i the callable make_operation(i), which it calls again and again until the time is
// up. An operation that throws ends the run, and run() throws the same exception.
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

}  // namespace examples
