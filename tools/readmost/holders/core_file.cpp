// SPDX-License-Identifier: Apache-2.0
// A core file, as the kernel or gcore(1) writes it.
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>

#include "failure.hpp"
#include "holders/stacks.hpp"
#include "holders/target.hpp"
#include "platform/address_space.hpp"

namespace readmost::command {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half this_machine = EM_X86_64;
#else
constexpr Elf64_Half this_machine = EM_AARCH64;
#endif

// A file in memory. Nothing in it is trusted.
class mapped_file {
 public:
  explicit mapped_file(const std::string& path) {
    const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    struct stat facts{};
    if (descriptor < 0 || fstat(descriptor, &facts) != 0) {
      const int error = errno;
      if (descriptor >= 0) close(descriptor);
      throw failure("cannot read '{}': {}; name a core file", path, std::strerror(error));
    }
    if (!S_ISREG(facts.st_mode)) {
      close(descriptor);
      throw failure("'{}' is not a file; name a core file", path);
    }
    size_ = static_cast<std::size_t>(facts.st_size);
    void* const memory =
        size_ != 0 ? mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0) : MAP_FAILED;
    close(descriptor);
    if (memory != MAP_FAILED) data_ = static_cast<const char*>(memory);
    if (data_ == nullptr) size_ = 0;
  }
  ~mapped_file() {
    if (data_ != nullptr) munmap(const_cast<char*>(data_), size_);
  }
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;

  std::size_t size() const { return size_; }
  // Null if the file is not that long.
  const char* at(std::uint64_t offset, std::uint64_t size) const {
    return offset <= size_ && size <= size_ - offset ? data_ + offset : nullptr;
  }
  template <class T>
  bool copy(std::uint64_t offset, T& to) const {
    const char* const from = at(offset, sizeof to);
    if (from != nullptr) std::memcpy(&to, from, sizeof to);
    return from != nullptr;
  }

 private:
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

// The parts of its memory that the core file has, which may end early.
struct segment {
  std::uintptr_t start;
  std::uintptr_t end;
  std::uint64_t offset;
  std::uint64_t kept;  // bytes
  Elf64_Word flags;
};

struct file_range {
  std::uintptr_t start;
  std::uintptr_t end;
  std::uint64_t offset;
  std::string file;
};

class core : public holders_target {
 public:
  core(const std::string& path, const std::string& program)
      : path_(path), program_file_(program), file_(path) {
    read_segments();
    if (!program.empty()) {
      if (access(program.c_str(), R_OK) != 0) {
        throw failure("cannot read '{}': {}; name the program that left '{}'", program,
                      std::strerror(errno), path);
      }
      rename_program();
    }
    maps_ = as_maps();
    space_ = std::make_unique<detail::address_space>("/proc/self", maps_.data(), maps_.size());
  }

  std::string title() const override { return fmt::format("core file {} ({})", path_, program()); }
  std::string program() const override {
    return program_file_.empty() ? program_name_ : program_file_;
  }
  std::optional<pid_t> process() const override {
    return process_ != 0 ? std::optional(process_) : std::nullopt;
  }

  std::vector<mapping> mappings() const override {
    std::vector<mapping> all;
    for (const segment& each : segments_) {
      const file_range* const range = range_at(each.start);
      all.push_back({each.start, each.end, (each.flags & PF_W) != 0, (each.flags & PF_X) != 0,
                     range != nullptr ? range->file : ""});
    }
    // Those of which the core file has nothing.
    for (const file_range& each : ranges_) {
      if (segment_at(each.start) == nullptr) {
        all.push_back({each.start, each.end, false, true, each.file});
      }
    }
    return all;
  }

  // The kernel writes no names of threads.
  std::vector<thread> threads() const override { return threads_; }
  std::optional<std::uint64_t> now() const override { return std::nullopt; }

  bool read(std::uintptr_t from, void* to, std::size_t size) const override {
    auto* next = static_cast<char*>(to);
    while (size != 0) {
      const segment* const here = segment_at(from);
      if (here == nullptr || from - here->start >= here->kept) return false;
      const std::uint64_t part = std::min<std::uint64_t>(size, here->kept - (from - here->start));
      const char* const data = file_.at(here->offset + (from - here->start), part);
      if (data == nullptr) return false;
      std::memcpy(next, data, part);
      next += part;
      from += part;
      size -= part;
    }
    return true;
  }
  using holders_target::read;

  bool is_kept(std::uintptr_t address) const override {
    const segment* const here = segment_at(address);
    return here == nullptr ? range_at(address) == nullptr : address - here->start < here->kept;
  }

  std::string place_of(std::uintptr_t address) const override {
    char text[1024];
    detail::describe(space_->place_of(address), text, sizeof text);
    return text;
  }

  std::vector<std::string> stack_of(pid_t thread) override {
    if (stacks_ == nullptr) stacks_ = stack_reader::of_core(path_, program_file_);
    return stacks_->frames_of(thread);
  }

 private:
  void read_segments() {
    Elf64_Ehdr header{};
    if (!file_.copy(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
      throw failure("'{}' is not a core file; name one, as gcore(1) or the kernel writes it",
                    path_);
    }
    if (header.e_ident[EI_CLASS] != ELFCLASS64) {
      throw failure("'{}' is of a 32-bit program, which the library does not serve", path_);
    }
    if (header.e_type != ET_CORE) {
      throw failure("'{}' is a program or a library, not a core file; name the core first", path_);
    }
    if (header.e_machine != this_machine) {
      throw failure("'{}' is of another kind of machine; use the 'readmost' of that machine",
                    path_);
    }
    std::uint64_t count = header.e_phnum;
    if (count == PN_XNUM) {
      Elf64_Shdr first{};
      if (file_.copy(header.e_shoff, first)) count = first.sh_info;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      Elf64_Phdr part{};
      if (!file_.copy(header.e_phoff + i * sizeof part, part)) {
        throw failure("'{}' ends in the middle; was the disk full, or 'ulimit -c' too small?",
                      path_);
      }
      if (part.p_type == PT_NOTE) read_notes(part);
      if (part.p_type == PT_LOAD) {
        segments_.push_back({part.p_vaddr, part.p_vaddr + part.p_memsz, part.p_offset,
                             part.p_filesz, part.p_flags});
        is_cut_ = is_cut_ || part.p_offset + part.p_filesz > file_.size();
      }
    }
    std::ranges::sort(segments_, {}, &segment::start);
    std::ranges::sort(ranges_, {}, &file_range::start);
    if (is_cut_) {
      throw failure("'{}' ends in the middle; was the disk full, or 'ulimit -c' too small?", path_);
    }
    if (threads_.empty()) throw failure("'{}' names no thread: it is damaged", path_);
  }

  void read_notes(const Elf64_Phdr& part) {
    const auto aligned = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
    const std::uint64_t end = part.p_offset + part.p_filesz;
    for (std::uint64_t at = part.p_offset; at < end;) {
      Elf64_Nhdr note{};
      if (!file_.copy(at, note)) return;
      const std::uint64_t content = at + sizeof note + aligned(note.n_namesz);
      if (note.n_type == NT_PRSTATUS) {
        elf_prstatus status{};
        if (file_.copy(content, status)) threads_.push_back({status.pr_pid, status.pr_pid, {}});
      } else if (note.n_type == NT_PRPSINFO) {
        elf_prpsinfo facts{};
        if (file_.copy(content, facts)) {
          process_ = facts.pr_pid;
          const std::string words(facts.pr_psargs, strnlen(facts.pr_psargs, ELF_PRARGSZ));
          program_name_ = words.substr(0, words.find(' '));
        }
      } else if (note.n_type == NT_FILE) {
        read_files(content, note.n_descsz);
      }
      at = content + aligned(note.n_descsz);
    }
  }

  // Count, unit of offsets; for each file start, end and offset; their names.
  void read_files(std::uint64_t at, std::uint64_t size) {
    const std::uint64_t end = at + size;
    const auto next = [&] {
      std::uint64_t word = 0;
      file_.copy(at, word);
      at += sizeof word;
      return word;
    };
    const std::uint64_t count = next();
    const std::uint64_t unit = next();
    if (count > size / (3 * sizeof count)) return;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t first = next();
      const std::uint64_t last = next();
      ranges_.push_back({first, last, next() * unit, {}});
    }
    for (file_range& each : ranges_) {
      if (at >= end) return;
      const char* const name = file_.at(at, end - at);
      if (name == nullptr) return;
      each.file.assign(name, strnlen(name, end - at));
      at += each.file.size() + 1;
    }
  }

  // Symbols are looked for in the file that the user names. The program is the file whose name
  // agrees, else the first.
  void rename_program() {
    if (ranges_.empty()) return;
    const auto name_of = [](const std::string& path) {
      return std::filesystem::path(path).filename();
    };
    const auto found = std::ranges::find_if(ranges_, [&](const file_range& each) {
      return name_of(each.file) == name_of(program_file_);
    });
    const std::string old = (found != ranges_.end() ? *found : ranges_.front()).file;
    for (file_range& each : ranges_) {
      if (each.file == old) each.file = std::filesystem::absolute(program_file_);
    }
  }

  const segment* segment_at(std::uintptr_t address) const {
    auto after = std::ranges::upper_bound(segments_, address, {}, &segment::start);
    if (after == segments_.begin() || address >= (--after)->end) return nullptr;
    return &*after;
  }
  const file_range* range_at(std::uintptr_t address) const {
    auto after = std::ranges::upper_bound(ranges_, address, {}, &file_range::start);
    if (after == ranges_.begin() || address >= (--after)->end) return nullptr;
    return &*after;
  }

  // In the form of /proc/PID/maps.
  std::string as_maps() const {
    std::map<std::uintptr_t, std::string> lines;
    for (const segment& each : segments_) {
      if (range_at(each.start) != nullptr) continue;
      lines[each.start] = fmt::format("{:x}-{:x} rw-p 0 00:00 0 \n", each.start, each.end);
    }
    for (const file_range& each : ranges_) {
      lines[each.start] = fmt::format("{:x}-{:x} r--p {:x} 00:00 1 {}\n", each.start, each.end,
                                      each.offset, each.file);
    }
    std::string text;
    for (const auto& [start, line] : lines) text += line;
    return text;
  }

  std::string path_;
  std::string program_file_;
  mapped_file file_;
  std::vector<segment> segments_;
  std::vector<file_range> ranges_;
  std::vector<thread> threads_;
  pid_t process_ = 0;
  bool is_cut_ = false;
  std::string program_name_ = "?";
  std::string maps_;
  std::unique_ptr<detail::address_space> space_;
  std::unique_ptr<stack_reader> stacks_;
};

}  // namespace

std::unique_ptr<holders_target> core_target(const std::string& path, const std::string& program) {
  return std::make_unique<core>(path, program);
}

}  // namespace readmost::command
