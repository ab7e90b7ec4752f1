// SPDX-License-Identifier: Apache-2.0
#include "symbols.hpp"

#include <cxxabi.h>
#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>

namespace readmost::command {
namespace {

constexpr Dwfl_Callbacks callbacks{
    .find_elf = dwfl_build_id_find_elf,
    .find_debuginfo = dwfl_standard_find_debuginfo,
    .section_address = dwfl_offline_section_address,
    .debuginfo_path = nullptr,
};

// The address at which the file's segment says that this offset is loaded; false if none does.
bool address_of_offset(Elf* elf, std::uint64_t offset, std::uintptr_t& address) {
  constexpr std::uint64_t page = 4096;
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return false;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) continue;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    if (segment.p_offset / page * page > offset || segment.p_offset + segment.p_filesz <= offset) {
      continue;
    }
    address = segment.p_vaddr - segment.p_offset + offset;
    return true;
  }
  return false;
}

std::string linked_name_of(Dwarf_Die* function) {
  Dwarf_Attribute attribute;
  for (const unsigned name : {DW_AT_linkage_name, DW_AT_MIPS_linkage_name}) {
    if (const char* text = dwarf_formstring(dwarf_attr_integrate(function, name, &attribute))) {
      return text;
    }
  }
  const char* text = dwarf_diename(function);
  return text != nullptr ? text : "";
}

// Where the function was called that is inlined there.
void set_call(function_name& caller, Dwarf_Die* unit, Dwarf_Die* inlined) {
  Dwarf_Attribute attribute;
  Dwarf_Word line = 0;
  Dwarf_Word file = 0;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &line) != 0) return;
  if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &file) != 0) return;
  Dwarf_Files* files = nullptr;
  std::size_t count = 0;
  if (dwarf_getsrcfiles(unit, &files, &count) != 0) return;
  const char* name = dwarf_filesrc(files, file, nullptr, nullptr);
  if (name == nullptr) return;
  caller.source = name;
  caller.line = static_cast<int>(line);
}

}  // namespace

std::string demangled(const std::string& name) {
  if (!name.starts_with("_Z")) return name;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  return text != nullptr ? text.get() : name;
}

std::string_view file_name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// A file of the process and what libdw knows of it; without a file if that has been replaced since,
// or cannot be read.
struct symbols::module {
  module(const code_mapping& mapping, const std::string& root) :bias(mapping.start) {
    const std::string path = root + mapping.path;
    struct stat facts{};
    if (stat(path.c_str(), &facts) != 0) return;
    if (mapping.inode != 0 && mapping.inode != facts.st_ino) return;
    const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    session = dwfl_begin(&callbacks);
    if (session == nullptr || !open_with(mapping, path, file)) close(file);
  }
  ~module() {
    if (session != nullptr) dwfl_end(session);
  }
  module(const module&) = delete;
  module& operator=(const module&) = delete;

  // Takes the descriptor over if it returns true.
  bool open_with(const code_mapping& mapping, const std::string& path, int file) {
    elf_version(EV_CURRENT);
    Elf* elf = elf_begin(file, ELF_C_READ_MMAP, nullptr);
    if (elf == nullptr) return false;
    std::uintptr_t in_file = 0;
    const bool known = address_of_offset(elf, mapping.offset, in_file);
    elf_end(elf);
    if (!known) return false;
    bias = mapping.start - in_file;
    dwfl_report_begin(session);
    content = dwfl_report_elf(session, std::string(file_name_of(path)).c_str(), path.c_str(), file,
                              bias, true);
    dwfl_report_end(session, nullptr, nullptr);
    return content != nullptr;
  }

  bool covers(std::uintptr_t address) const {
    if (content == nullptr) return false;
    Dwarf_Addr start = 0;
    Dwarf_Addr end = 0;
    dwfl_module_info(content, nullptr, &start, &end, nullptr, nullptr, nullptr, nullptr);
    return address >= start && address < end;
  }

  // Of the symbol table; empty if there is none.
  std::string symbol_at(std::uintptr_t address, std::uint64_t& offset) const {
    if (content == nullptr) return "";
    GElf_Sym symbol;
    GElf_Off within = 0;
    const char* name =
        dwfl_module_addrinfo(content, address, &within, &symbol, nullptr, nullptr, nullptr);
    // libdw gives the nearest symbol in the section also where none extends so far.
    if (name == nullptr || (symbol.st_size != 0 && within >= symbol.st_size)) return "";
    offset = within;
    return name;
  }

  // Null without debugging information. `offset`: of addresses in it to those in the process.
  Dwarf_Die* unit_at(std::uintptr_t address, Dwarf_Addr& offset) const {
    if (content == nullptr) return nullptr;
    if (Dwarf_Die* unit = dwfl_module_addrdie(content, address, &offset)) return unit;
    // That needs .debug_aranges, which clang and rustc leave out.
    Dwarf_Die* unit = dwfl_module_nextcu(content, nullptr, &offset);
    while (unit != nullptr && dwarf_haspc(unit, address - offset) <= 0) {
      unit = dwfl_module_nextcu(content, unit, &offset);
    }
    return unit;
  }

  // The functions inlined there, and the function of the debugging information if there is any.
  std::vector<function_name> scopes_at(std::uintptr_t address) const {
    std::vector<function_name> found;
    Dwarf_Addr offset = 0;
    Dwarf_Die* unit = unit_at(address, offset);
    if (unit == nullptr) return found;
    function_name next;
    if (Dwarf_Line* line = dwarf_getsrc_die(unit, address - offset)) {
      const char* source = dwarf_linesrc(line, nullptr, nullptr);
      if (source != nullptr && dwarf_lineno(line, &next.line) == 0) next.source = source;
    }
    Dwarf_Die* lexical = nullptr;
    if (dwarf_getscopes(unit, address - offset, &lexical) <= 0) return found;
    // Of a function that is inlined, those scopes are where it is written, not where it is called.
    Dwarf_Die innermost = lexical[0];
    std::free(lexical);
    Dwarf_Die* scopes = nullptr;
    const int count = dwarf_getscopes_die(&innermost, &scopes);
    for (int i = 0; i < count; ++i) {
      const int tag = dwarf_tag(&scopes[i]);
      if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) continue;
      next.linked = linked_name_of(&scopes[i]);
      next.text = demangled(next.linked);
      found.push_back(next);
      if (tag == DW_TAG_subprogram) break;
      next = {};
      set_call(next, unit, &scopes[i]);
    }
    std::free(scopes);
    return found;
  }

  Dwfl* session = nullptr;
  Dwfl_Module* content = nullptr;
  std::uintptr_t bias;
};

symbols::symbols(std::vector<code_mapping> mappings, std::string root)
    : mappings_(std::move(mappings)), root_(std::move(root)), modules_(mappings_.size()) {}

symbols::~symbols() = default;

const code_mapping* symbols::mapping_of(std::uintptr_t address) const {
  // A later one may have taken an earlier one's place.
  for (auto m = mappings_.rbegin(); m != mappings_.rend(); ++m) {
    if (address >= m->start && address < m->end) return &*m;
  }
  return nullptr;
}

symbols::module* symbols::module_of(const code_mapping& mapping) {
  auto& known = modules_[static_cast<std::size_t>(&mapping - mappings_.data())];
  if (known == nullptr) known = std::make_unique<module>(mapping, root_);
  return known.get();
}

std::vector<function_name> symbols::functions_at(std::uintptr_t address) {
  const code_mapping* const mapping = mapping_of(address);
  if (mapping == nullptr) return {{fmt::format("{:#x}", address), "", "", 0}};
  const module& in = *module_of(*mapping);
  std::vector<function_name> functions = in.scopes_at(address);
  std::uint64_t offset = 0;
  const std::string linked = in.symbol_at(address, offset);
  if (functions.empty()) functions.emplace_back();
  function_name& outermost = functions.back();
  if (!linked.empty()) {
    outermost.linked = linked;
    outermost.text = demangled(linked);
  }
  for (function_name& each : functions) {
    if (!each.text.empty()) continue;
    each.text = fmt::format("{}+{:#x}", file_name_of(mapping->path), address - in.bias);
  }
  return functions;
}

std::string symbols::variable_at(std::uintptr_t address) {
  for (const code_mapping& mapping : mappings_) {
    const module& in = *module_of(mapping);
    if (!in.covers(address)) continue;
    std::uint64_t offset = 0;
    const std::string name = demangled(in.symbol_at(address, offset));
    if (name.empty()) return fmt::format("{}+{:#x}", file_name_of(mapping.path), address - in.bias);
    return offset == 0 ? fmt::format("{} ({})", name, file_name_of(mapping.path))
                       : fmt::format("{}+{:#x} ({})", name, offset, file_name_of(mapping.path));
  }
  return "";
}

std::string symbols::build_id_of(const code_mapping& mapping) {
  const module& in = *module_of(mapping);
  const unsigned char* bits = nullptr;
  GElf_Addr at = 0;
  if (in.content == nullptr) return "";
  dwfl_module_getelf(in.content, &at);
  const int length = dwfl_module_build_id(in.content, &bits, &at);
  std::string text;
  for (int i = 0; i < length; ++i) text += fmt::format("{:02x}", bits[i]);
  return text;
}

}  // namespace readmost::command
