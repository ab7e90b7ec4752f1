// SPDX-License-Identifier: Apache-2.0
#include "top/target.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <vector>

#include "failure.hpp"
#include "platform/address_space.hpp"
#include "platform/memory_map.hpp"
#include "process/preload.hpp"

namespace readmost::command {
namespace {

// The load address of our library in the process; 0 when there is none.
std::uintptr_t library_in(const std::string& maps) {
  mapping m;
  for (maps_reader lines({maps.data(), maps.size()}); lines.next(m);) {
    if (!m.is_file()) continue;
    std::string_view file(m.name, m.name_length);
    constexpr std::string_view replaced = " (deleted)";
    if (file.ends_with(replaced)) file.remove_suffix(replaced.size());
    if (is_ours(file)) return m.start;
  }
  return 0;
}

std::uint32_t gnu_hash(std::string_view name) {
  std::uint32_t hash = 5381;
  for (const char c : name) hash = hash * 33 + static_cast<unsigned char>(c);
  return hash;
}

}  // namespace

top_process::top_process(pid_t pid)
    : process_(pid), descriptor_(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))) {
  if (descriptor_ < 0) {
    if (errno == ESRCH) {
      throw failure("no process {}; name one that runs, as in 'readmost top -p $(pidof server)'",
                    pid);
    }
    throw failure("cannot watch process {}: {}; name a process, not one of its threads", pid,
                  std::strerror(errno));
  }
}

top_process::~top_process() {
  close(descriptor_);
}

top_target::top_target(pid_t pid) : top_process(pid) {
  const std::uintptr_t library = library_in(maps());
  if (library == 0) {
    throw failure("process {} ({}) runs without {}; start it with 'readmost run --stats -- {}'",
                  pid, program(), library_file, program());
  }
  const introspection expected(READMOST_VERSION, nullptr, nullptr, 0);
  shown_at_ = reinterpret_cast<const introspection*>(find_symbol(library));
  if (shown_at_ != nullptr) read(shown_at_, shown_);
  if (shown_at_ == nullptr || !shown_.is_same_build(expected)) {
    const std::string version = shown_at_ != nullptr && shown_.has_magic_of(expected)
                                    ? std::string(shown_.version)
                                    : "of an older version";
    throw failure(
        "the library in process {} ({}) is {}, not the {} of this build; use the 'readmost' that "
        "was built with it",
        pid, program(), version, READMOST_VERSION);
  }
}

const introspection& top_target::shown() {
  read(shown_at_, shown_);
  return shown_;
}

void top_process::read(std::span<const piece> pieces) const {
  constexpr std::size_t at_once = 512;
  std::vector<iovec> ours, theirs;
  for (std::size_t i = 0; i < pieces.size(); i += at_once) {
    ours.clear();
    theirs.clear();
    std::size_t wanted = 0;
    for (const piece& p : pieces.subspan(i, std::min(at_once, pieces.size() - i))) {
      ours.push_back({p.to, p.size});
      theirs.push_back({const_cast<void*>(p.from), p.size});
      wanted += p.size;
    }
    const ssize_t got =
        process_vm_readv(pid(), ours.data(), ours.size(), theirs.data(), theirs.size(), 0);
    if (got == static_cast<ssize_t>(wanted)) continue;
    if (got < 0 && (errno == EPERM || errno == ENOSYS)) process_.not_allowed(errno);
    // Its memory has changed: it has ended, or executes another program.
    throw process_ended{};
  }
}

// Reads the dynamic symbols from the process's memory, because the library's file may have been
// replaced since or lie in another mount namespace.
std::uintptr_t top_target::find_symbol(std::uintptr_t library) const {
  const auto get = [&]<class T>(std::uintptr_t at, T value) {
    read(reinterpret_cast<const T*>(at), value);
    return value;
  };
  const auto header = get(library, Elf64_Ehdr{});
  std::uintptr_t dynamic = 0;
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    const auto segment = get(library + header.e_phoff + i * sizeof(Elf64_Phdr), Elf64_Phdr{});
    if (segment.p_type == PT_DYNAMIC) dynamic = library + segment.p_vaddr;
  }
  if (dynamic == 0) return 0;
  std::uintptr_t symbols = 0, names = 0, hash = 0;
  for (;; dynamic += sizeof(Elf64_Dyn)) {
    const auto entry = get(dynamic, Elf64_Dyn{});
    if (entry.d_tag == DT_NULL) break;
    // On most machines the loader has added the load address to these.
    const std::uintptr_t at =
        entry.d_un.d_ptr < library ? library + entry.d_un.d_ptr : entry.d_un.d_ptr;
    if (entry.d_tag == DT_SYMTAB) symbols = at;
    if (entry.d_tag == DT_STRTAB) names = at;
    if (entry.d_tag == DT_GNU_HASH) hash = at;
  }
  if (symbols == 0 || names == 0 || hash == 0) return 0;

  // Number of buckets, first symbol in them, words of the filter, shift; filter; buckets; hashes of
  // the symbols, the last one of a bucket with its lowest bit set.
  const std::string_view wanted = introspection::symbol;
  const auto word = [&](std::uintptr_t at) { return get(at, std::uint32_t{}); };
  const std::uint32_t buckets = word(hash), first = word(hash + 4), filter = word(hash + 8);
  if (buckets == 0) return 0;
  const std::uintptr_t bucket = hash + 16 + filter * sizeof(std::uint64_t);
  const std::uintptr_t chain = bucket + buckets * sizeof(std::uint32_t);
  std::uint32_t number = word(bucket + gnu_hash(wanted) % buckets * sizeof(std::uint32_t));
  if (number < first) return 0;
  for (std::uint32_t hashed = 0; (hashed & 1) == 0; ++number) {
    hashed = word(chain + (number - first) * sizeof(std::uint32_t));
    if ((hashed | 1) != (gnu_hash(wanted) | 1)) continue;
    const auto symbol = get(symbols + number * sizeof(Elf64_Sym), Elf64_Sym{});
    std::string name(wanted.size() + 1, '.');
    const piece text{reinterpret_cast<const void*>(names + symbol.st_name), name.data(),
                     name.size()};
    read({&text, 1});
    if (name.starts_with(wanted) && name.back() == '\0') return library + symbol.st_value;
  }
  return 0;
}

const std::string& top_target::place_of(std::uintptr_t lock) {
  const auto [found, is_new] = places_.try_emplace(lock);
  if (is_new) {
    char text[1024];
    describe(address_space(folder().c_str()).place_of(lock), text, sizeof text);
    found->second = text;
  }
  return found->second;
}

}  // namespace readmost::command
