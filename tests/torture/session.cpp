// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>

namespace torture {

namespace {
// A fixed maximum, because the watchdog reads the workers while the scenario may still add some.
constexpr std::size_t most_workers = 4096;
constexpr std::uint64_t violations_described = 5;
}  // namespace

session::session(std::string name, const options& chosen)
    : name_(std::move(name)), options_(chosen) {
  workers_.reserve(most_workers);
  monitor_ = std::thread([this] { monitor(); });
}

session::~session() {
  join();
}

void session::spawn(std::function<void(worker&)> work) {
  if (workers_.size() == most_workers) {
    fmt::print(stderr, "torture: more than {} threads; give a smaller --threads\n", most_workers);
    std::fflush(stderr);
    _exit(exit_status::hung);
  }
  const auto index = static_cast<unsigned>(workers_.size());
  workers_.push_back(std::make_unique<worker>(*this, index, options_.seed * 1000003 + index));
  published_workers_.store(workers_.size(), std::memory_order_release);
  threads_.emplace_back([work = std::move(work), me = workers_.back().get()] { work(*me); });
}

void session::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
  finished_.store(true);
  if (monitor_.joinable()) monitor_.join();
}

void session::violation(const char* what, const char* where) {
  const std::uint64_t before = violations_.fetch_add(1);
  // Uses write instead of stdio, because a signal handler may call this.
  if (before < violations_described) {
    char line[256];
    const auto end = fmt::format_to_n(line, sizeof line, "torture: {}: violation: {} ({})\n", name_,
                                      what, where);
    [[maybe_unused]] const auto written =
        ::write(STDERR_FILENO, line, std::min(end.size, sizeof line));
  }
  if (options_.stop_at_violation) running_.store(false, std::memory_order_relaxed);
}

void worker::violation(const char* what) {
  session_.violation(what, activity_.load(std::memory_order_relaxed) == activity::holding
                               ? "inside its section"
                               : "outside a section");
}

std::uint64_t session::progress() const {
  std::uint64_t sum = 0;
  const std::size_t count = published_workers_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const worker& one = *workers_.data()[i];
    sum += one.reads_.load(std::memory_order_relaxed) +
           one.writes_.load(std::memory_order_relaxed) + one.tries_.load(std::memory_order_relaxed);
  }
  return sum;
}

void session::give_up() const {
  fmt::print(stderr,
             "torture: {}: HANG: no thread made progress for {} s (threads {}, seed {}, "
             "{} operations so far)\n",
             name_, options_.stall, options_.threads, options_.seed, progress());
  const std::size_t count = published_workers_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) {
    const worker& one = *workers_.data()[i];
    const char* doing = "not at a lock, or ended";
    switch (one.activity_.load(std::memory_order_relaxed)) {
      case worker::activity::elsewhere:
        break;
      case worker::activity::waiting_to_read:
        doing = "waiting to read";
        break;
      case worker::activity::waiting_to_write:
        doing = "waiting to write";
        break;
      case worker::activity::holding:
        doing = "holding a lock or releasing it";
        break;
    }
    fmt::print(stderr, "  thread {}: {} reads, {} writes, {}\n", i, one.reads_.load(),
               one.writes_.load(), doing);
  }
  std::fflush(stderr);
  _exit(exit_status::hung);
}

void session::monitor() {
  using clock = std::chrono::steady_clock;
  random_source random(options_.seed ^ 0x5bd1e995);
  const auto begin = clock::now();
  const auto end = begin + std::chrono::duration_cast<clock::duration>(
                               std::chrono::duration<double>(options_.seconds));
  auto phase_ends = begin;
  auto last_progress = begin;
  std::uint64_t seen = progress();
  while (!finished_.load(std::memory_order_relaxed)) {
    std::this_thread::sleep_for(session::tick_length);
    const auto now = clock::now();
    tick_.store(static_cast<std::uint32_t>((now - begin) / tick_length), std::memory_order_relaxed);
    if (now >= end) running_.store(false, std::memory_order_relaxed);
    if (now >= phase_ends) {
      const bool quiet = !read_only_.load(std::memory_order_relaxed);
      read_only_.store(quiet, std::memory_order_relaxed);
      phase_ends = now + std::chrono::microseconds(quiet ? random.between(1000, 5000)
                                                         : random.between(300, 3000));
    }
    if (const std::uint64_t count = progress(); count != seen) {
      seen = count;
      last_progress = now;
    } else if (now - last_progress > std::chrono::duration<double>(options_.stall)) {
      give_up();
    }
  }
}

milliseconds session::longest(milliseconds worker::* of_one) const {
  milliseconds result{0};
  for (const auto& one : workers_) worker::keep_longest(result, (*one).*of_one);
  return result;
}

exit_status session::report() const {
  std::uint64_t reads = 0;
  std::uint64_t writes = 0;
  std::uint64_t tries = 0;
  for (const auto& one : workers_) {
    reads += one->reads_.load();
    writes += one->writes_.load();
    tries += one->tries_.load();
  }
  const std::uint64_t violations = violations_.load();
  fmt::print(
      "{}: {} reads, {} writes, {} tries in vain, {} violations; longest wait {:.1f} ms to read, "
      "{:.1f} ms to write (threads {}, seed {})\n",
      name_, reads, writes, tries, violations, longest_read_wait().count(),
      longest_write_wait().count(), options_.threads, options_.seed);
  std::fflush(stdout);
  return violations == 0 ? exit_status::passed : exit_status::violated;
}

}  // namespace torture
