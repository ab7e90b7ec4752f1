// SPDX-License-Identifier: Apache-2.0
#include "process/program_file.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

#include "failure.hpp"

namespace readmost::command {
namespace {

namespace fs = std::filesystem;

bool is_executable_file(const fs::path& path) {
  struct stat file{};
  return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) && access(path.c_str(), X_OK) == 0;
}

// Throws unless the path names a file that may be executed.
void require_executable(const std::string& name, const fs::path& path) {
  struct stat file{};
  if (stat(path.c_str(), &file) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) {
      throw failure(exit_status::not_found, "no program '{}'; check the path", name);
    }
    throw cannot_run(name, errno);
  }
  if (S_ISDIR(file.st_mode)) {
    throw failure(exit_status::not_executable, "cannot run '{}': it is a directory; name a program",
                  name);
  }
  if (!is_executable_file(path)) {
    throw failure(exit_status::not_executable,
                  "cannot run '{}': it is not executable; try chmod +x", name);
  }
}

struct elf_file {
  ElfW(Ehdr) header {};
  bool native = false;  // of the same class and machine as this program
  std::optional<std::string> interpreter;
  std::vector<std::string> needed;  // the shared libraries that it names
};

template <typename Object>
bool read_object(std::ifstream& in, Object& object) {
  return static_cast<bool>(in.read(reinterpret_cast<char*>(&object), sizeof object));
}

template <typename Object>
bool read_object_at(std::ifstream& in, std::uint64_t offset, Object& object) {
  in.clear();
  return in.seekg(static_cast<std::streamoff>(offset)) && read_object(in, object);
}

// The loader that the file names.
std::optional<std::string> interpreter_of(std::ifstream& in,
                                          const std::vector<ElfW(Phdr)>& segments) {
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_INTERP) continue;
    in.clear();
    in.seekg(static_cast<std::streamoff>(segment.p_offset));
    std::string name;
    std::getline(in, name, '\0');
    return name;
  }
  return std::nullopt;
}

// What a file's dynamic section names, as far as the file can be read.
std::vector<std::string> needed_by(std::ifstream& in, const std::vector<ElfW(Phdr)>& segments) {
  std::uint64_t names = 0;  // where it is loaded
  std::vector<std::uint64_t> places;
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_DYNAMIC) continue;
    ElfW(Dyn) entry{};
    for (std::uint64_t at = 0; at + sizeof entry <= segment.p_filesz; at += sizeof entry) {
      if (!read_object_at(in, segment.p_offset + at, entry) || entry.d_tag == DT_NULL) break;
      if (entry.d_tag == DT_STRTAB) names = entry.d_un.d_ptr;
      if (entry.d_tag == DT_NEEDED) places.push_back(entry.d_un.d_val);
    }
  }
  std::vector<std::string> needed;
  for (const ElfW(Phdr) & segment : segments) {
    if (segment.p_type != PT_LOAD || names - segment.p_vaddr >= segment.p_filesz) continue;
    for (const std::uint64_t place : places) {
      in.clear();
      in.seekg(static_cast<std::streamoff>(segment.p_offset + (names - segment.p_vaddr) + place));
      std::string name;
      if (std::getline(in, name, '\0')) needed.push_back(name);
    }
  }
  return needed;
}

// Nothing when the file is not an ELF file or cannot be read.
std::optional<elf_file> read_elf(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  elf_file elf;
  if (!read_object(in, elf.header) || std::memcmp(elf.header.e_ident, ELFMAG, SELFMAG) != 0) {
    return std::nullopt;
  }
  ElfW(Ehdr) self{};
  std::ifstream self_in("/proc/self/exe", std::ios::binary);
  elf.native = read_object(self_in, self) &&
               self.e_ident[EI_CLASS] == elf.header.e_ident[EI_CLASS] &&
               self.e_ident[EI_DATA] == elf.header.e_ident[EI_DATA] &&
               self.e_machine == elf.header.e_machine;
  if (!elf.native) return elf;
  in.seekg(static_cast<std::streamoff>(elf.header.e_phoff));
  std::vector<ElfW(Phdr)> segments;
  for (unsigned index = 0; index < elf.header.e_phnum; ++index) {
    ElfW(Phdr) segment{};
    if (!read_object(in, segment)) break;
    segments.push_back(segment);
  }
  elf.interpreter = interpreter_of(in, segments);
  elf.needed = needed_by(in, segments);
  return elf;
}

// The interpreter that a script's first line names.
std::optional<fs::path> script_interpreter(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  char line[256];
  in.read(line, sizeof line);
  const std::string_view start(line, static_cast<std::size_t>(in.gcount()));
  if (!start.starts_with("#!")) return std::nullopt;
  std::istringstream words{std::string(start.substr(2, start.find('\n') - 2))};
  std::string interpreter;
  if (!(words >> interpreter)) return std::nullopt;
  return interpreter;
}

// The loader ignores LD_PRELOAD when the program gains rights its caller does not have.
const char* gained_rights(const fs::path& path) {
  struct stat file{};
  if (stat(path.c_str(), &file) != 0) return nullptr;
  if ((file.st_mode & S_ISUID) != 0 && file.st_uid != getuid()) return "set-user-ID";
  const mode_t set_group = S_ISGID | S_IXGRP;
  if ((file.st_mode & set_group) == set_group && file.st_gid != getgid()) return "set-group-ID";
  return nullptr;
}

}  // namespace

failure cannot_run(const fs::path& program, int error) {
  return {exit_status::not_executable, "cannot run '{}': {}{}", program.string(),
          std::strerror(error),
          error == ENOEXEC  ? "; a script needs a #! line"
          : error == ENOENT ? "; the interpreter or loader that the file names is missing"
                            : "; check its permissions"};
}

fs::path folder_of_this_program(const char* variable) {
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    throw failure("cannot find the folder of this program (/proc/self/exe: {}); set {}",
                  error.message(), variable);
  }
  return executable.parent_path();
}

fs::path find_program(const std::string& name, const environment& env) {
  if (name.empty()) {
    throw failure(exit_status::not_found, "the program's name is empty; name a program after --");
  }
  if (name.find('/') != std::string::npos) {
    require_executable(name, name);
    return name;
  }
  std::optional<fs::path> not_executable;
  std::istringstream path(env.get("PATH").value_or("/bin:/usr/bin"));
  for (std::string folder; std::getline(path, folder, ':');) {
    const fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
    if (is_executable_file(candidate)) return candidate;
    std::error_code ignored;
    if (!not_executable && fs::is_regular_file(candidate, ignored)) not_executable = candidate;
  }
  if (not_executable) require_executable(not_executable->string(), *not_executable);
  throw failure(exit_status::not_found,
                "no program '{}' on PATH; check the spelling or give its path", name);
}

std::optional<std::string> preload_obstacle(const fs::path& program) {
  const fs::path loaded = script_interpreter(program).value_or(program);
  if (loaded == program) {
    if (const char* rights = gained_rights(program)) {
      return fmt::format("'{}' is {}, so the loader ignores LD_PRELOAD", program.string(), rights);
    }
  }
  const std::optional<elf_file> elf = read_elf(loaded);
  if (!elf) return std::nullopt;
  if (!elf->native) {
    return fmt::format("'{}' is built for another architecture than the library", loaded.string());
  }
  if (!elf->interpreter) {
    return fmt::format("'{}' is statically linked, so no loader reads LD_PRELOAD", loaded.string());
  }
  return std::nullopt;
}

std::optional<std::string> address_sanitizer_of(const fs::path& program) {
  const std::optional<elf_file> elf = read_elf(program);
  if (!elf) return std::nullopt;
  for (const std::string& library : elf->needed) {
    if (library.starts_with("libasan.so") || library.starts_with("libclang_rt.asan")) {
      return library;
    }
  }
  return std::nullopt;
}

std::string_view name_of(c_library which) {
  switch (which) {
    case c_library::glibc:
      return "glibc";
    case c_library::musl:
      return "musl";
    case c_library::unknown:
      break;
  }
  return "another C library";
}

c_library c_library_of_program(const fs::path& program) {
  const std::optional<elf_file> elf = read_elf(script_interpreter(program).value_or(program));
  if (!elf || !elf->interpreter) return c_library::unknown;
  const std::string loader = fs::path(*elf->interpreter).filename().string();
  if (loader.starts_with("ld-musl-")) return c_library::musl;
  return loader.starts_with("ld-linux") ? c_library::glibc : c_library::unknown;
}

c_library c_library_of_library(const fs::path& library) {
  const std::optional<elf_file> elf = read_elf(library);
  if (!elf) return c_library::unknown;
  for (const std::string& needed : elf->needed) {
    if (needed == "libc.so.6") return c_library::glibc;
    // As a distribution's compiler names it, and as one that builds for others does.
    if (needed.starts_with("libc.musl-") || needed == "libc.so") return c_library::musl;
  }
  return c_library::unknown;
}

bool is_loadable_library(const fs::path& file) {
  const std::optional<elf_file> elf = read_elf(file);
  return elf && elf->native && elf->header.e_type == ET_DYN;
}

}  // namespace readmost::command
