// SPDX-License-Identifier: Apache-2.0
#include "kernel_half.hpp"

#include <bpf/libbpf.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "switches.skel.h"

namespace readmost::scheduled {
namespace {

constexpr const char* btf = "/sys/kernel/btf/vmlinux";
// Of the first namespace of process ids, whose ids the kernel's half sees.
constexpr ino_t first_pid_namespace = 0xEFFFFFFC;

ino_t pid_namespace() {
  struct stat found{};
  return stat("/proc/self/ns/pid", &found) == 0 ? found.st_ino : 0;
}

std::string why(int error) {
  if (error == EPERM || error == EACCES) {
    return "the kernel refuses to load it (" + std::string(std::strerror(error)) +
           "); it takes the capabilities CAP_BPF and CAP_PERFMON, or root";
  }
  return std::string("the kernel does not load it (") + std::strerror(error) +
         "); it takes Linux 5.12 or newer with CONFIG_BPF_SYSCALL and CONFIG_RSEQ";
}

}  // namespace

kernel_half load_kernel_half() {
  kernel_half half;
  const ino_t space = pid_namespace();
  if (access(btf, R_OK) != 0) {
    half.problem = std::string("no ") + btf + "; it takes a kernel with CONFIG_DEBUG_INFO_BTF";
    return half;
  }
  if (space != first_pid_namespace) {
    half.problem = "this is a container with process ids of its own; start it outside";
    return half;
  }
  // Its own messages would be a page.
  libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
  switches* loaded = switches__open();
  if (loaded == nullptr) {
    half.problem = why(errno);
    return half;
  }
  loaded->rodata->process = getpid();
  int error = switches__load(loaded);
  if (error == 0) error = switches__attach(loaded);
  if (error != 0) {
    half.problem = why(-error);
    switches__destroy(loaded);
    return half;
  }
  half.notes = &loaded->bss->notes;
  half.notes->header.magic = READMOST_SWITCH_MAGIC;
  half.notes->header.process = static_cast<unsigned>(getpid());
  half.notes->header.pid_namespace = space;
  half.file = bpf_map__fd(loaded->maps.bss);
  return half;
}

}  // namespace readmost::scheduled
