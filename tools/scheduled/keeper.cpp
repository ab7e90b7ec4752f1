// SPDX-License-Identifier: Apache-2.0
#include "keeper.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace readmost::scheduled {
namespace {

// The kernel's list of robust futexes of this thread: the one of the notes.
struct held_futex {
  robust_list_head head;
  robust_list only;
};

// The list lies in shared memory: a process that is killed because memory is short may lose its
// private memory before the kernel reads the list (the OOM reaper).
bool hold(unsigned& word) {
  void* const page =
      mmap(nullptr, sizeof(held_futex), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  auto& robust = *static_cast<held_futex*>(page);
  robust.head.list.next = &robust.only;
  robust.only.next = &robust.head.list;
  robust.head.futex_offset = reinterpret_cast<char*>(&word) - reinterpret_cast<char*>(&robust.only);
  if (syscall(SYS_set_robust_list, &robust.head, sizeof robust.head) != 0) return false;
  __atomic_store_n(&word, static_cast<unsigned>(syscall(SYS_gettid)), __ATOMIC_RELEASE);
  return true;
}

// In the keeper.
[[noreturn]] void keep(readmost_switch_header& header, int program, int ready) {
  // Apart from the terminal, whose signals are for the program, and from files that somebody may
  // read to their end.
  setsid();
  prctl(PR_SET_NAME, "readmost-keeper");
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int i = 0; i <= STDERR_FILENO; ++i) dup2(nothing, i);
  if (!hold(header.holder) || write(ready, "", 1) != 1) _exit(1);
  close(ready);
  pollfd end{program, POLLIN, 0};
  while (poll(&end, 1, -1) < 0 && errno == EINTR) {
  }
  _exit(0);
}

}  // namespace

std::string start_keeper(readmost_switch_header& header) {
  const int program = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
  int ready[2];
  if (program < 0 || pipe2(ready, O_CLOEXEC) != 0) return std::strerror(errno);
  const pid_t between = fork();
  if (between < 0) return std::strerror(errno);
  if (between == 0) {
    close(ready[0]);
    if (fork() == 0) keep(header, program, ready[1]);
    _exit(0);
  }
  close(ready[1]);
  close(program);
  waitpid(between, nullptr, 0);
  char said = 0;
  ssize_t got = 0;
  while ((got = read(ready[0], &said, 1)) < 0 && errno == EINTR) {
  }
  close(ready[0]);
  return got == 1 ? "" : "its keeper did not start";
}

}  // namespace readmost::scheduled
