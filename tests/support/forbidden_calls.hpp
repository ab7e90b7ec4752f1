// SPDX-License-Identifier: Apache-2.0
// Makes system calls fail, for tests in a child.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

#include <cstddef>
#include <initializer_list>
#include <vector>

namespace test {

// From now on these system calls of the process fail with `error`. False if the kernel has no
// filters.
inline bool forbid_calls(std::initializer_list<unsigned> calls, unsigned error) {
  std::vector<sock_filter> lines{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  auto left = static_cast<unsigned char>(calls.size());
  for (const unsigned call : calls) {
    lines.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, left, 0));
    --left;
  }
  lines.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  lines.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
  const sock_fprog program{static_cast<unsigned short>(lines.size()), lines.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

}  // namespace test
