// SPDX-License-Identifier: Apache-2.0
#include "process/signal_watch.hpp"

#include <fmt/format.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "failure.hpp"

namespace readmost::command {
namespace {

// A signal that was ignored when we started (nohup, a shell's background job) stays ignored.
bool is_ignored(int signal) {
  struct sigaction action{};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

signal_watch::signal_watch() {
  // With an inherited SIG_IGN the kernel would reap children before we can wait for them.
  std::signal(SIGCHLD, SIG_DFL);
  sigset_t watched;
  sigemptyset(&watched);
  sigaddset(&watched, SIGCHLD);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!is_ignored(signal)) sigaddset(&watched, signal);
  }
  descriptor_ = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
  if (descriptor_ < 0) {
    throw failure("cannot create a signalfd: {}; raise ulimit -n", std::strerror(errno));
  }
  sigprocmask(SIG_BLOCK, &watched, &before_);
}

signal_watch::~signal_watch() {
  close(descriptor_);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int signal_watch::take_interruption() {
  int interruption = 0;
  signalfd_siginfo arrived{};
  while (read(descriptor_, &arrived, sizeof arrived) == sizeof arrived) {
    if (arrived.ssi_signo != SIGCHLD) interruption = static_cast<int>(arrived.ssi_signo);
  }
  return interruption;
}

}  // namespace readmost::command
