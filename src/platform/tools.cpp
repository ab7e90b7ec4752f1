// SPDX-License-Identifier: Apache-2.0
#include "platform/tools.hpp"

#if !defined(READMOST_THREAD_SANITIZER)

#include <elf.h>
#include <link.h>

#include <cstring>

// ThreadSanitizer's interface (sanitizer/tsan_interface.h), which is null in a program without it.
extern "C" {
[[gnu::weak]] void __tsan_init();
[[gnu::weak]] void __tsan_acquire(void* address);
[[gnu::weak]] void __tsan_release(void* address);
[[gnu::weak]] void __tsan_mutex_pre_lock(void* address, unsigned flags);
[[gnu::weak]] void __tsan_mutex_post_lock(void* address, unsigned flags, int recursion);
[[gnu::weak]] int __tsan_mutex_pre_unlock(void* address, unsigned flags);
[[gnu::weak]] void __tsan_mutex_post_unlock(void* address, unsigned flags);
[[gnu::weak]] void __tsan_mutex_destroy(void* address, unsigned flags);
}

namespace readmost::detail::tools {

namespace {

constexpr unsigned tsan_read_lock = 1U << 3;
constexpr unsigned tsan_try_lock = 1U << 4;
constexpr unsigned tsan_try_lock_failed = 1U << 5;

constexpr unsigned flags_of(acquisition how) noexcept {
  return (how.writes ? 0 : tsan_read_lock) | (how.tries ? tsan_try_lock : 0);
}

// --- Valgrind ------------------------------------------------------------------------------------

// The numbers of requests to the program that Valgrind simulates. Helgrind's, which DRD knows as
// well (helgrind.h, drd.h):
enum : std::uintptr_t {
  helgrind = std::uintptr_t{'H'} << 24 | std::uintptr_t{'G'} << 16,
  rwlock_destroyed = helgrind + 256 + 15,
  rwlock_acquired = helgrind + 256 + 17,  // the lock, 1 for a writer
  rwlock_released = helgrind + 256 + 18,  // the lock, 1 for a writer
  sent = helgrind + 256 + 33,
  received = helgrind + 256 + 34,
  untracked = helgrind + 256 + 39,      // the memory, its size
  cleaned_block = helgrind + 256 + 42,  // Helgrind alone; -1: no such block
  drd_thread = (std::uintptr_t{'D'} << 24 | std::uintptr_t{'R'} << 16) + 1,  // DRD alone
};

// Asks Valgrind, by an instruction sequence without effect. Outside of Valgrind, and from a tool
// that does not know the request, the answer is `otherwise`, as on processors that have no such
// sequence here.
std::uintptr_t ask_valgrind(std::uintptr_t otherwise, [[maybe_unused]] std::uintptr_t request,
                            [[maybe_unused]] const void* first = nullptr,
                            [[maybe_unused]] std::uintptr_t second = 0) noexcept {
#if defined(__x86_64__)
  const std::uintptr_t arguments[6] = {request, reinterpret_cast<std::uintptr_t>(first), second};
  std::uintptr_t answer = otherwise;
  asm volatile(
      "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
      "xchgq %%rbx, %%rbx"
      : "+d"(answer)
      : "a"(arguments)
      : "cc", "memory");
  return answer;
#elif defined(__aarch64__)
  const std::uintptr_t arguments[6] = {request, reinterpret_cast<std::uintptr_t>(first), second};
  register std::uintptr_t answer asm("x3") = otherwise;
  register const std::uintptr_t* where asm("x4") = arguments;
  asm volatile(
      "ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\t"
      "orr x10, x10, x10"
      : "+r"(answer)
      : "r"(where)
      : "cc", "memory");
  return answer;
#else
  return otherwise;
#endif
}

bool is_helgrind_or_drd() noexcept {
  if (ask_valgrind(0, drd_thread) != 0) return true;
  constexpr std::uintptr_t unknown = ~std::uintptr_t{1};
  return ask_valgrind(unknown, cleaned_block) != unknown;
}

// --- The library's own data ----------------------------------------------------------------------

bool is_ours(const char* symbol) noexcept {
  return std::strstr(symbol, "8readmost6detail") != nullptr;
}

// Hides the library's variables in a program or library that it is linked into, as far as the
// symbols are there to tell them from the program's.
void hide_by_symbols(const char* file, std::uintptr_t base) noexcept {
  const platform::file_content content = platform::content_of(file);
  if (content.data == nullptr) return;
  const auto in_file = [&](std::uint64_t offset, std::uint64_t size) {
    return offset <= content.size && size <= content.size - offset;
  };
  const auto* const header = reinterpret_cast<const ElfW(Ehdr)*>(content.data);
  if (in_file(0, sizeof *header) && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 &&
      in_file(header->e_shoff, header->e_shnum * sizeof(ElfW(Shdr)))) {
    const auto* const sections =
        reinterpret_cast<const ElfW(Shdr)*>(content.data + header->e_shoff);
    for (unsigned i = 0; i < header->e_shnum; ++i) {
      const ElfW(Shdr)& table = sections[i];
      if (table.sh_type != SHT_SYMTAB || table.sh_link >= header->e_shnum) continue;
      const ElfW(Shdr)& names = sections[table.sh_link];
      if (!in_file(table.sh_offset, table.sh_size) || !in_file(names.sh_offset, names.sh_size)) {
        continue;
      }
      const auto* symbol = reinterpret_cast<const ElfW(Sym)*>(content.data + table.sh_offset);
      for (std::uint64_t left = table.sh_size / sizeof *symbol; left != 0; --left, ++symbol) {
        if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_size == 0 ||
            symbol->st_shndx == SHN_UNDEF || symbol->st_name >= names.sh_size) {
          continue;
        }
        if (!is_ours(content.data + names.sh_offset + symbol->st_name)) continue;
        ask_valgrind(0, untracked, reinterpret_cast<const void*>(base + symbol->st_value),
                     symbol->st_size);
      }
    }
  }
  platform::give_back(content);
}

int hide_if_mine(dl_phdr_info* module, std::size_t, void* anchor) noexcept {
  const auto wanted = reinterpret_cast<std::uintptr_t>(anchor);
  const ElfW(Phdr)* holder = nullptr;
  for (unsigned i = 0; i < module->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = module->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD &&
        wanted - (module->dlpi_addr + segment.p_vaddr) < segment.p_memsz) {
      holder = &segment;
    }
  }
  if (holder == nullptr) return 0;
  const char* const slash = std::strrchr(module->dlpi_name, '/');
  const char* const name = slash != nullptr ? slash + 1 : module->dlpi_name;
  if (std::strncmp(name, "libreadmost", 11) == 0) {
    ask_valgrind(0, untracked, reinterpret_cast<const void*>(module->dlpi_addr + holder->p_vaddr),
                 holder->p_memsz);
  } else {
    hide_by_symbols(*name != '\0' ? module->dlpi_name : "/proc/self/exe", module->dlpi_addr);
  }
  return 1;
}

READMOST_THREAD_LOCAL bool stopped;

void* plain(const void* address) noexcept {
  return const_cast<void*>(address);
}

}  // namespace

constinit platform::atomic<present> which{present::undecided};

present decide() noexcept {
  // Several threads may do this at once, to the same effect.
  present found = present::none;
  if (__tsan_mutex_post_lock != nullptr && __tsan_release != nullptr) {
    found = present::thread_sanitizer;
    // The program's constructors call it too, but perhaps later.
    if (__tsan_init != nullptr) __tsan_init();
  } else if (is_helgrind_or_drd()) {
    found = present::valgrind;
  }
  which.store(found, platform::relaxed);
  if (found == present::valgrind) {
    dl_iterate_phdr([](dl_phdr_info* module, std::size_t size,
                       void* anchor) { return hide_if_mine(module, size, anchor); },
                    &which);
  }
  return found;
}

namespace {

// Before the library's other constructors (READMOST_EARLY): they call functions of the C library
// that ThreadSanitizer has replaced, and that fail before its initialization.
#if !defined(__clang__)  // which does not warn of that
#pragma GCC diagnostic ignored "-Wprio-ctor-dtor"
#endif
__attribute__((constructor(100))) void decide_first() noexcept {
  tool();
}

}  // namespace

void stop_in_this_thread() noexcept {
  stopped = true;
}

void hide(const void* memory, std::size_t bytes) noexcept {
  if (tool() == present::valgrind) ask_valgrind(0, untracked, memory, bytes);
}

void tell_before(const void* address) noexcept {
  switch (tool()) {
    case present::thread_sanitizer:
      if (!stopped) __tsan_release(plain(address));
      break;
    case present::valgrind:
      ask_valgrind(0, sent, address);
      break;
    default:
      break;
  }
}

void tell_after(const void* address) noexcept {
  switch (tool()) {
    case present::thread_sanitizer:
      if (!stopped) __tsan_acquire(plain(address));
      break;
    case present::valgrind:
      ask_valgrind(0, received, address);
      break;
    default:
      break;
  }
}

void begin_acquisition(const void* lock, acquisition how) noexcept {
  if (tool() != present::thread_sanitizer || stopped) return;
  __tsan_mutex_pre_lock(plain(lock), flags_of(how));
}

void end_acquisition(const void* lock, acquisition how, bool acquired) noexcept {
  switch (tool()) {
    case present::thread_sanitizer:
      if (stopped) break;
      __tsan_mutex_post_lock(plain(lock), flags_of(how) | (acquired ? 0 : tsan_try_lock_failed), 0);
      break;
    case present::valgrind:
      if (acquired) ask_valgrind(0, rwlock_acquired, lock, how.writes ? 1 : 0);
      break;
    default:
      break;
  }
}

void release(const void* lock, bool writes) noexcept {
  switch (tool()) {
    case present::thread_sanitizer:
      if (stopped) break;
      // The second one only ends what the first one began, and the lock may be gone by the time
      // that it is released.
      __tsan_mutex_pre_unlock(plain(lock), flags_of({.writes = writes}));
      __tsan_mutex_post_unlock(plain(lock), flags_of({.writes = writes}));
      break;
    case present::valgrind:
      ask_valgrind(0, rwlock_released, lock, writes ? 1 : 0);
      break;
    default:
      break;
  }
}

void destroy(const void* lock) noexcept {
  switch (tool()) {
    case present::thread_sanitizer:
      if (!stopped && __tsan_mutex_destroy != nullptr) __tsan_mutex_destroy(plain(lock), 0);
      break;
    case present::valgrind:
      ask_valgrind(0, rwlock_destroyed, lock);
      break;
    default:
      break;
  }
}

}  // namespace readmost::detail::tools

#endif
