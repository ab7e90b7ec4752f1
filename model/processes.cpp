// SPDX-License-Identifier: Apache-2.0
#include "processes.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <list>
#include <map>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace readmost::model {

namespace {

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The next task that no process has begun, in memory that all of them share.
class task_counter {
 public:
  task_counter() {
    void* const pages =
        mmap(nullptr, sizeof *next_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) fail("mmap");
    next_ = new (pages) std::atomic<std::size_t>(0);
  }
  ~task_counter() { munmap(next_, sizeof *next_); }
  task_counter(const task_counter&) = delete;
  task_counter& operator=(const task_counter&) = delete;
  std::size_t take() { return next_->fetch_add(1); }

 private:
  std::atomic<std::size_t>* next_;
};

enum class notice : std::uint32_t { begun, ended, threw };

// Precedes the text of each message from a child.
struct header {
  notice what;
  std::uint32_t length;
  std::uint64_t task;
};

void write_all(int to, const void* data, std::size_t size) {
  const char* at = static_cast<const char*>(data);
  while (size != 0) {
    const ssize_t written = write(to, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) _exit(1);  // the parent is gone
    at += written;
    size -= static_cast<std::size_t>(written);
  }
}

void tell(int to, notice what, std::size_t task, const std::string& text) {
  const header before{what, static_cast<std::uint32_t>(text.size()), task};
  write_all(to, &before, sizeof before);
  write_all(to, text.data(), text.size());
}

// How many tasks a child performs.
enum class share { all_it_gets, one };

[[noreturn]] void work(int to, std::size_t tasks, share mine, task_counter& counter,
                       const std::function<std::string(std::size_t)>& task) {
  for (std::size_t i; (i = counter.take()) < tasks;) {
    tell(to, notice::begun, i, "");
    try {
      tell(to, notice::ended, i, task(i));
    } catch (const std::exception& problem) {
      tell(to, notice::threw, i, problem.what());
    }
    if (mine == share::one) break;
  }
  _exit(0);
}

class child {
 public:
  child(std::size_t tasks, share its, task_counter& counter,
        const std::function<std::string(std::size_t)>& task) {
    int ends[2];
    if (pipe(ends) != 0) fail("pipe");
    std::fflush(nullptr);
    const pid_t parent = getpid();
    id_ = fork();
    if (id_ < 0) fail("fork");
    if (id_ == 0) {
      close(ends[0]);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      work(ends[1], tasks, its, counter, task);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child() {
    kill(id_, SIGKILL);
    close(from_);
    waitpid(id_, nullptr, 0);
  }

  int descriptor() const { return from_; }

  // Reads what the child has written; false at the end.
  bool read_some() {
    char buffer[65536];
    const ssize_t got = read(from_, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) return true;
    if (got <= 0) return false;
    unread_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  std::optional<std::pair<header, std::string>> next() {
    header before;
    if (unread_.size() < sizeof before) return std::nullopt;
    std::memcpy(&before, unread_.data(), sizeof before);
    if (unread_.size() < sizeof before + before.length) return std::nullopt;
    std::string text = unread_.substr(sizeof before, before.length);
    unread_.erase(0, sizeof before + before.length);
    return std::pair{before, std::move(text)};
  }

  std::optional<std::size_t> current;  // the task in progress

 private:
  pid_t id_;
  int from_ = -1;
  std::string unread_;
};

void in_children(std::size_t at_a_time, std::size_t tasks, share of_each,
                 const std::function<std::string(std::size_t)>& name,
                 const std::function<std::string(std::size_t)>& task,
                 const std::function<void(std::size_t, std::string)>& done) {
  task_counter counter;
  std::list<child> children;
  std::size_t left_to_start = of_each == share::one ? tasks : std::min(at_a_time, tasks);
  std::map<std::size_t, std::string> early;
  std::size_t next = 0;
  while (next < tasks) {
    for (; left_to_start != 0 && children.size() < at_a_time; --left_to_start) {
      children.emplace_back(tasks, of_each, counter, task);
    }
    // A child that was killed may have taken a task without saying so.
    if (children.empty())
      throw std::runtime_error(name(next) + ": its process ended before it did");
    std::vector<pollfd> wanted;
    for (const child& each : children) wanted.push_back({each.descriptor(), POLLIN, 0});
    if (poll(wanted.data(), wanted.size(), -1) < 0 && errno != EINTR) fail("poll");
    auto from = children.begin();
    for (const pollfd& ready : wanted) {
      const bool goes_on = ready.revents == 0 || from->read_some();
      while (const auto told = from->next()) {
        const auto& [what, text] = *told;
        if (what.what == notice::threw) throw std::runtime_error(text);
        from->current = what.what == notice::begun ? std::optional(what.task) : std::nullopt;
        if (what.what == notice::ended) early.emplace(what.task, text);
      }
      if (!goes_on && from->current) {
        throw std::runtime_error(name(*from->current) + ": its process ended before it did");
      }
      from = goes_on ? std::next(from) : children.erase(from);
    }
    for (auto first = early.begin(); first != early.end() && first->first == next;
         first = early.erase(first)) {
      done(next++, std::move(first->second));
    }
  }
}

}  // namespace

void in_processes(unsigned processes, std::size_t tasks,
                  const std::function<std::string(std::size_t)>& name,
                  const std::function<std::string(std::size_t)>& task,
                  const std::function<void(std::size_t, std::string)>& done) {
  if (processes <= 1 || tasks <= 1) {
    for (std::size_t i = 0; i < tasks; ++i) done(i, task(i));
    return;
  }
  in_children(processes, tasks, share::all_it_gets, name, task, done);
}

void in_own_processes(unsigned at_a_time, std::size_t tasks,
                      const std::function<std::string(std::size_t)>& name,
                      const std::function<std::string(std::size_t)>& task,
                      const std::function<void(std::size_t, std::string)>& done) {
  in_children(std::max(at_a_time, 1U), tasks, share::one, name, task, done);
}

unsigned usual_processes() {
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return 1;
  return static_cast<unsigned>(CPU_COUNT(&mine));
}

}  // namespace readmost::model
