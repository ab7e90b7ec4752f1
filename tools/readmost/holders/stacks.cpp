// SPDX-License-Identifier: Apache-2.0
#include "holders/stacks.hpp"

#include <algorithm>
#include <string_view>

namespace readmost::command {

std::vector<std::string> without_library(std::vector<std::string> frames) {
  const auto last = std::find_if(frames.rbegin(), frames.rend(), [](std::string_view one) {
    return one.starts_with("readmost::") || one.starts_with("readmost_rwlock_") ||
           one.starts_with("libreadmost") || one.find("(libreadmost") != one.npos;
  });
  frames.erase(frames.begin(), last.base());
  return frames;
}

}  // namespace readmost::command

#if defined(READMOST_HAS_LIBDW)

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "symbols.hpp"

namespace readmost::command {
namespace {

constexpr std::size_t most_frames = 24;
constexpr std::size_t shown_frames = 8;

// Only what the modules themselves contain: debugging information may have to be fetched.
int no_debug_information(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                         GElf_Word, char**) {
  return -1;
}

class dwfl_stacks : public stack_reader {
 public:
  dwfl_stacks(int (*find_elf)(Dwfl_Module*, void**, const char*, Dwarf_Addr, char**, Elf**)) {
    callbacks_.find_elf = find_elf;
    callbacks_.find_debuginfo = no_debug_information;
    callbacks_.section_address = dwfl_offline_section_address;
    dwfl_ = dwfl_begin(&callbacks_);
  }
  ~dwfl_stacks() override {
    if (dwfl_ != nullptr) dwfl_end(dwfl_);
  }

  std::vector<std::string> frames_of(pid_t thread) override {
    found_.clear();
    if (!is_attached_ || !is_known(thread)) return {};
    dwfl_getthread_frames(dwfl_, thread, note_frame, this);
    std::vector<std::string> frames = without_library(found_);
    frames.resize(std::min(frames.size(), shown_frames));
    return frames;
  }

 protected:
  virtual bool is_known(pid_t) { return true; }

  Dwfl_Callbacks callbacks_{};
  Dwfl* dwfl_ = nullptr;
  bool is_attached_ = false;

 private:
  static int note_frame(Dwfl_Frame* state, void* self) {
    auto& found = static_cast<dwfl_stacks*>(self)->found_;
    Dwarf_Addr pc = 0;
    bool is_exact = false;
    if (!dwfl_frame_pc(state, &pc, &is_exact) || found.size() == most_frames) {
      return DWARF_CB_ABORT;
    }
    found.push_back(static_cast<dwfl_stacks*>(self)->frame_at(pc, is_exact));
    return DWARF_CB_OK;
  }

  std::string frame_at(Dwarf_Addr pc, bool is_exact) const {
    // A return address may be behind the end of a function that ends with a call.
    const Dwarf_Addr at = is_exact ? pc : pc - 1;
    Dwfl_Module* const module = dwfl_addrmodule(dwfl_, at);
    if (module == nullptr) return fmt::format("{:#x}", pc);
    Dwarf_Addr start = 0;
    const char* const path =
        dwfl_module_info(module, nullptr, &start, nullptr, nullptr, nullptr, nullptr, nullptr);
    const std::string_view file = path != nullptr ? file_name_of(path) : "?";
    GElf_Off offset = 0;
    GElf_Sym symbol;
    const char* const name =
        dwfl_module_addrinfo(module, at, &offset, &symbol, nullptr, nullptr, nullptr);
    if (name == nullptr) return fmt::format("{}+{:#x}", file, at - start);
    return fmt::format("{}+{:#x} ({})", demangled(name), offset, file);
  }

  std::vector<std::string> found_;
};

// --- A running process ---------------------------------------------------------------------------

// Of the reader that is in use; libdw's callback for files has no argument.
pid_t process_in_use = 0;

int find_file(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base, char** file,
              Elf** elf) {
  // Through the process's root directory, which may differ from this one's.
  if (*name == '/') {
    const std::string path = fmt::format("/proc/{}/root{}", process_in_use, name);
    const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor >= 0) *file = strdup(name);
    return descriptor;
  }
  return dwfl_linux_proc_find_elf(module, data, name, base, file, elf);
}

// Where a sleeping thread has entered the kernel.
struct entry {
  std::uintptr_t stack = 0;
  std::uintptr_t pc = 0;
};

bool find_entry(pid_t pid, pid_t thread, entry& found) {
  std::ifstream file(fmt::format("/proc/{}/task/{}/syscall", pid, thread));
  std::vector<std::string> words;
  for (std::string word; file >> word;) words.push_back(word);
  if (words.size() < 3) return false;  // "running"
  found.stack = std::strtoull(words[words.size() - 2].c_str(), nullptr, 16);
  found.pc = std::strtoull(words.back().c_str(), nullptr, 16);
  return found.pc != 0;
}

class process_stacks : public dwfl_stacks {
 public:
  explicit process_stacks(pid_t pid) : dwfl_stacks(find_file), pid_(pid) {
    process_in_use = pid;
    if (dwfl_ == nullptr || dwfl_linux_proc_report(dwfl_, pid) != 0) return;
    dwfl_report_end(dwfl_, nullptr, nullptr);
    static const Dwfl_Thread_Callbacks threads{.next_thread = next_thread,
                                               .get_thread = get_thread,
                                               .memory_read = read_memory,
                                               .set_initial_registers = set_registers,
                                               .detach = nullptr,
                                               .thread_detach = nullptr};
    // Without a file it looks at the first module.
    is_attached_ = dwfl_attach_state(dwfl_, nullptr, pid, &threads, this);
  }

 protected:
  bool is_known(pid_t thread) override { return find_entry(pid_, thread, at_); }

 private:
  static pid_t next_thread(Dwfl*, void*, void**) { return 0; }
  static bool get_thread(Dwfl*, pid_t, void* self, void** argument) {
    *argument = self;
    return true;
  }
  static bool read_memory(Dwfl*, Dwarf_Addr address, Dwarf_Word* word, void* self) {
    const iovec ours{word, sizeof *word};
    const iovec theirs{reinterpret_cast<void*>(address), sizeof *word};
    const pid_t pid = static_cast<process_stacks*>(self)->pid_;
    return process_vm_readv(pid, &ours, 1, &theirs, 1, 0) == sizeof *word;
  }
  static bool set_registers(Dwfl_Thread* thread, void* self) {
    const entry& at = static_cast<process_stacks*>(self)->at_;
#if defined(__x86_64__)
    constexpr int stack_pointer = 7;
#else
    constexpr int stack_pointer = 31;
#endif
    const Dwarf_Word stack = at.stack;
    dwfl_thread_state_register_pc(thread, at.pc);
    return dwfl_thread_state_registers(thread, stack_pointer, 1, &stack);
  }

  pid_t pid_;
  entry at_;
};

// --- A core file ---------------------------------------------------------------------------------

class core_stacks : public dwfl_stacks {
 public:
  core_stacks(const std::string& core, const std::string& program)
      : dwfl_stacks(dwfl_build_id_find_elf) {
    elf_version(EV_CURRENT);
    descriptor_ = open(core.c_str(), O_RDONLY | O_CLOEXEC);
    elf_ = elf_begin(descriptor_, ELF_C_READ_MMAP, nullptr);
    if (dwfl_ == nullptr || elf_ == nullptr ||
        dwfl_core_file_report(dwfl_, elf_, program.empty() ? nullptr : program.c_str()) < 0) {
      return;
    }
    dwfl_report_end(dwfl_, nullptr, nullptr);
    is_attached_ = dwfl_core_file_attach(dwfl_, elf_) >= 0;
  }
  ~core_stacks() override {
    if (dwfl_ != nullptr) dwfl_end(dwfl_);
    dwfl_ = nullptr;
    if (elf_ != nullptr) elf_end(elf_);
    if (descriptor_ >= 0) close(descriptor_);
  }

 private:
  int descriptor_ = -1;
  Elf* elf_ = nullptr;
};

}  // namespace

bool stacks_are_known() noexcept {
  return true;
}

std::unique_ptr<stack_reader> stack_reader::of_process(pid_t pid) {
  return std::make_unique<process_stacks>(pid);
}

std::unique_ptr<stack_reader> stack_reader::of_core(const std::string& core,
                                                    const std::string& program) {
  return std::make_unique<core_stacks>(core, program);
}

}  // namespace readmost::command

#else

namespace readmost::command {
namespace {

class no_stacks : public stack_reader {
 public:
  std::vector<std::string> frames_of(pid_t) override { return {}; }
};

}  // namespace

bool stacks_are_known() noexcept {
  return false;
}

std::unique_ptr<stack_reader> stack_reader::of_process(pid_t) {
  return std::make_unique<no_stacks>();
}

std::unique_ptr<stack_reader> stack_reader::of_core(const std::string&, const std::string&) {
  return std::make_unique<no_stacks>();
}

}  // namespace readmost::command

#endif
