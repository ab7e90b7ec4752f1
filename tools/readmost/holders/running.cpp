// SPDX-License-Identifier: Apache-2.0
// A running process.
#include <elf.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>

#include "failure.hpp"
#include "holders/stacks.hpp"
#include "holders/target.hpp"
#include "platform/address_space.hpp"
#include "platform/memory_map.hpp"
#include "process/inspected.hpp"

namespace readmost::command {
namespace {

namespace fs = std::filesystem;

class running : public holders_target {
 public:
  explicit running(pid_t pid) : process_(pid), space_(process_.folder().c_str()) {
    std::ifstream status(process_.folder() + "/status");
    if (!status) {
      throw failure(
          "no process {}; name one that runs, as in 'readmost holders -p $(pidof server)'", pid);
    }
    for (std::string line; std::getline(status, line);) {
      pid_t group = 0;
      if (std::sscanf(line.c_str(), "Tgid: %d", &group) == 1 && group != pid) {
        throw failure("{} is a thread of process {}; name the process", pid, group);
      }
    }
    const std::string maps = process_.maps();
    detail::mapping m;
    for (detail::maps_reader lines({maps.data(), maps.size()}); lines.next(m);) {
      mappings_.push_back({m.start, m.end, m.is_writable, m.is_executable,
                           m.is_file() ? std::string(m.name, m.name_length) : std::string()});
    }
    unsigned char identification[EI_NIDENT] = {};
    for (const mapping& each : mappings_) {
      if (each.file.empty() || !read(each.start, identification)) continue;
      if (std::memcmp(identification, ELFMAG, SELFMAG) == 0 &&
          identification[EI_CLASS] == ELFCLASS32) {
        throw failure("process {} ({}) is a 32-bit program, which the library does not serve", pid,
                      program());
      }
      break;
    }
  }

  std::string title() const override {
    return fmt::format("process {} ({})", process_.pid(), program());
  }
  std::string program() const override { return process_.program(); }
  std::optional<pid_t> process() const override { return process_.pid(); }
  std::vector<mapping> mappings() const override { return mappings_; }

  std::vector<thread> threads() const override {
    std::vector<thread> all;
    std::error_code vanished;
    for (const auto& entry : fs::directory_iterator(process_.folder() + "/task", vanished)) {
      thread one{std::atoi(entry.path().filename().c_str()), 0, {}};
      one.own_id = one.id;
      std::ifstream status(entry.path() / "status");
      for (std::string line; std::getline(status, line);) {
        if (line.starts_with("Name:\t")) one.name = line.substr(6);
        // The ids in all nested namespaces, the process's own last.
        if (line.starts_with("NSpid:")) {
          one.own_id = std::atoi(line.c_str() + line.find_last_of("\t ") + 1);
        }
      }
      all.push_back(std::move(one));
    }
    return all;
  }

  std::optional<std::uint64_t> now() const override {
    timespec time{};
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(time.tv_nsec);
  }

  bool read(std::uintptr_t from, void* to, std::size_t size) const override {
    const iovec ours{to, size};
    const iovec theirs{reinterpret_cast<void*>(from), size};
    const ssize_t got = process_vm_readv(process_.pid(), &ours, 1, &theirs, 1, 0);
    if (got < 0 && (errno == EPERM || errno == ENOSYS)) process_.not_allowed(errno);
    if (got < 0 && errno == ESRCH) {
      throw failure("process {} ({}) has ended", process_.pid(), program());
    }
    return got == static_cast<ssize_t>(size);
  }
  using holders_target::read;

  bool is_kept(std::uintptr_t) const override { return true; }

  std::string place_of(std::uintptr_t address) const override {
    char text[1024];
    detail::describe(space_.place_of(address), text, sizeof text);
    return text;
  }

  std::vector<std::string> stack_of(pid_t thread) override {
    if (stacks_ == nullptr) stacks_ = stack_reader::of_process(process_.pid());
    return stacks_->frames_of(thread);
  }

 private:
  inspected_process process_;
  detail::address_space space_;
  std::vector<mapping> mappings_;
  std::unique_ptr<stack_reader> stacks_;
};

}  // namespace

std::unique_ptr<holders_target> running_target(pid_t pid) {
  return std::make_unique<running>(pid);
}

}  // namespace readmost::command
