#include "interpose/redirection.hpp"

#include <sys/mman.h>
#include <sys/single_threaded.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace readmost::detail::interpose {

namespace {

struct jump {
  unsigned char code[8];
  std::size_t size;  // 0: no jump reaches that far
};

jump jump_over(std::intptr_t distance) noexcept {
  jump made{};
#if defined(__x86_64__)
  // jmp rel32, from behind the instruction.
  const std::intptr_t from_end = distance - 5;
  if (from_end != static_cast<std::int32_t>(from_end)) return made;
  const auto offset = static_cast<std::int32_t>(from_end);
  made.code[0] = 0xE9;
  std::memcpy(made.code + 1, &offset, sizeof offset);
  made.size = 5;
#elif defined(__aarch64__)
  // b imm26, in words.
  constexpr std::intptr_t reach = std::intptr_t{1} << 27;
  if (distance < -reach || distance >= reach) return made;
  const std::uint32_t instruction =
      0x1400'0000U | (static_cast<std::uint32_t>(distance >> 2) & 0x03FF'FFFFU);
  std::memcpy(made.code, &instruction, sizeof instruction);
  made.size = 4;
#else
  static_cast<void>(distance);
#endif
  return made;
}

}  // namespace

bool redirect(void* from, const void* to) noexcept {
  const jump made = jump_over(static_cast<const char*>(to) - static_cast<char*>(from));
  if (made.size == 0 || !__libc_single_threaded) return false;
  const int kept_errno = errno;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(from) & ~(page - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(from) + made.size;
  void* const pages = reinterpret_cast<void*>(start);
  // Stays executable, because this very function may lie there.
  const bool writable = mprotect(pages, end - start, PROT_READ | PROT_WRITE | PROT_EXEC) == 0;
  if (writable) {
    std::memcpy(from, made.code, made.size);
    mprotect(pages, end - start, PROT_READ | PROT_EXEC);
    char* const code = static_cast<char*>(from);
    __builtin___clear_cache(code, code + made.size);
  }
  errno = kept_errno;
  return writable;
}

}  // namespace readmost::detail::interpose
