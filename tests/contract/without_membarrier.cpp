// SPDX-License-Identifier: Apache-2.0
// Runs a command for which membarrier(2) fails with ENOSYS, as on kernels and in sandboxes without
// it; fails with EPERM, as in other sandboxes; or kills the caller, as in the strictest ones.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  unsigned answer = SECCOMP_RET_ERRNO | ENOSYS;
  char** command = argv + 1;
  if (argc > 1 && std::strcmp(argv[1], "--eperm") == 0) {
    answer = SECCOMP_RET_ERRNO | EPERM;
    ++command;
  } else if (argc > 1 && std::strcmp(argv[1], "--kill") == 0) {
    answer = SECCOMP_RET_KILL_PROCESS;
    ++command;
  }
  if (*command == nullptr) {
    std::fprintf(stderr, "usage: without_membarrier [--eperm|--kill] COMMAND [ARGUMENT...]\n");
    return 2;
  }
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, answer),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof rules / sizeof rules[0], rules};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    std::fprintf(stderr,
                 "without_membarrier: the kernel refuses a seccomp filter (%s); run where seccomp "
                 "filters are allowed\n",
                 std::strerror(errno));
    return 2;
  }
  execvp(command[0], command);
  std::fprintf(stderr, "without_membarrier: cannot run '%s' (%s); give an executable's path\n",
               command[0], std::strerror(errno));
  return 127;
}
