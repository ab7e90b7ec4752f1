// SPDX-License-Identifier: Apache-2.0
#include "platform/address_space.hpp"

#include <dlfcn.h>
#include <elf.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "platform/memory_map.hpp"

namespace readmost::detail {

namespace {

using platform::file_content;

// An ELF file of this machine's kind. Nothing in it is trusted.
class elf_file {
 public:
  explicit elf_file(file_content file) noexcept : file_(file), header_(at<Elf64_Ehdr>(0, 1)) {
    if (header_ != nullptr && (std::memcmp(header_->e_ident, ELFMAG, SELFMAG) != 0 ||
                               header_->e_ident[EI_CLASS] != ELFCLASS64)) {
      header_ = nullptr;
    }
  }

  // The difference between addresses in memory and in the file if its first segment is at `start`.
  std::uintptr_t bias(std::uintptr_t start) const noexcept {
    constexpr std::uintptr_t page = 4096;
    const Elf64_Phdr* const segments = program_headers();
    for (std::size_t i = 0; segments != nullptr && i < header_->e_phnum; ++i) {
      if (segments[i].p_type == PT_LOAD) return start - segments[i].p_vaddr / page * page;
    }
    return start;
  }

  bool covers(std::uintptr_t address) const noexcept {
    const Elf64_Phdr* const segments = program_headers();
    for (std::size_t i = 0; segments != nullptr && i < header_->e_phnum; ++i) {
      const Elf64_Phdr& segment = segments[i];
      if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
          address - segment.p_vaddr < segment.p_memsz) {
        return true;
      }
    }
    return false;
  }

  // The symbol at that address, from the full table if the file has one, else from the dynamic one.
  const char* symbol_at(std::uintptr_t address, std::uint64_t& offset) const noexcept {
    for (const std::uint32_t type : {std::uint32_t{SHT_SYMTAB}, std::uint32_t{SHT_DYNSYM}}) {
      if (const char* found = symbol_in(type, address, offset)) return found;
    }
    return nullptr;
  }

 private:
  template <class T>
  const T* at(std::uint64_t offset, std::uint64_t count) const noexcept {
    if (file_.data == nullptr || offset > file_.size || offset % alignof(T) != 0 ||
        count > (file_.size - offset) / sizeof(T)) {
      return nullptr;
    }
    return reinterpret_cast<const T*>(file_.data + offset);
  }

  const Elf64_Phdr* program_headers() const noexcept {
    return header_ == nullptr ? nullptr : at<Elf64_Phdr>(header_->e_phoff, header_->e_phnum);
  }

  const char* symbol_in(std::uint32_t type, std::uintptr_t address,
                        std::uint64_t& offset) const noexcept {
    const Elf64_Shdr* const sections =
        header_ == nullptr ? nullptr : at<Elf64_Shdr>(header_->e_shoff, header_->e_shnum);
    for (std::size_t i = 0; sections != nullptr && i < header_->e_shnum; ++i) {
      if (sections[i].sh_type != type || sections[i].sh_link >= header_->e_shnum) continue;
      const std::uint64_t count = sections[i].sh_size / sizeof(Elf64_Sym);
      const auto* symbols = at<Elf64_Sym>(sections[i].sh_offset, count);
      const Elf64_Shdr& strings = sections[sections[i].sh_link];
      const char* names = at<char>(strings.sh_offset, strings.sh_size);
      if (symbols == nullptr || names == nullptr || strings.sh_size == 0 ||
          names[strings.sh_size - 1] != '\0') {
        continue;
      }
      for (std::uint64_t s = 0; s < count; ++s) {
        const Elf64_Sym& symbol = symbols[s];
        const unsigned kind = ELF64_ST_TYPE(symbol.st_info);
        if ((kind != STT_OBJECT && kind != STT_FUNC) || symbol.st_shndx == SHN_UNDEF ||
            address < symbol.st_value || address - symbol.st_value >= symbol.st_size ||
            symbol.st_name >= strings.sh_size) {
          continue;
        }
        offset = address - symbol.st_value;
        return names + symbol.st_name;
      }
    }
    return nullptr;
  }

  file_content file_;
  const Elf64_Ehdr* header_;
};

// Demangles with the C++ library's function if the program has one.
void spell(const char* name, symbol_names how, char* text, std::size_t size) noexcept {
  using demangler = char* (*)(const char*, char*, std::size_t*, int*);
  char* readable = nullptr;
  if (how == symbol_names::demangled && std::strncmp(name, "_Z", 2) == 0) {
    if (const auto call = reinterpret_cast<demangler>(dlsym(RTLD_DEFAULT, "__cxa_demangle"))) {
      int status = 0;
      readable = call(name, nullptr, nullptr, &status);
    }
  }
  std::snprintf(text, size, "%s", readable != nullptr ? readable : name);
  std::free(readable);
}

// Looks into the module's file; false if the address does not belong to the module.
bool look_into(const char* proc, symbol_names names, const mapping& module, std::uintptr_t address,
               bool certainly, place& where) noexcept {
  char path[1024];
  // Through the process's root directory, which may differ from this one's.
  std::snprintf(path, sizeof path, "%s/root%.*s", proc, static_cast<int>(module.name_length),
                module.name);
  const file_content content = platform::content_of(path);
  const elf_file file(content);
  const std::uintptr_t bias = file.bias(module.start);
  const bool inside = file.covers(address - bias);
  if (inside || certainly) {
    where.offset = address - (inside ? bias : module.start);
    if (inside) {
      const char* symbol = file.symbol_at(address - bias, where.symbol_offset);
      if (symbol != nullptr) spell(symbol, names, where.symbol, sizeof where.symbol);
    }
  }
  platform::give_back(content);
  return inside || certainly;
}

void set_name(place& where, const mapping& m) noexcept {
  std::snprintf(where.mapping, sizeof where.mapping, "%.*s", static_cast<int>(m.name_length),
                m.name);
}

}  // namespace

address_space::address_space(const char* proc, symbol_names names) noexcept
    : proc_(proc), names_(names), maps_{nullptr, 0} {
  char path[64];
  std::snprintf(path, sizeof path, "%s/maps", proc);
  maps_ = platform::content_of(path);
}

address_space::~address_space() {
  if (owns_maps_) platform::give_back(maps_);
}

place address_space::place_of(std::uintptr_t address) const noexcept {
  place where{};
  mapping m;
  mapping module;                    // the first mapping of the file mapped last
  std::uintptr_t end_of_module = 0;  // including the mappings that follow it without a gap
  for (maps_reader lines(maps_); lines.next(m);) {
    if (m.is_file()) {
      if (!module.has_same_name(m)) module = m;
      end_of_module = m.end;
    } else if (m.name_length == 0 && m.start == end_of_module) {
      end_of_module = m.end;  // perhaps its .bss
    }
    if (address < m.start || address >= m.end) continue;
    where.offset = address - m.start;
    if (m.is_file()) {
      set_name(where, m);
      look_into(proc_, names_, module, address, true, where);
    } else if (m.end == end_of_module && look_into(proc_, names_, module, address, false, where)) {
      set_name(where, module);
    } else if (m.name_length == 0) {
      std::snprintf(where.mapping, sizeof where.mapping, "anonymous");
    } else {
      set_name(where, m);
    }
    break;
  }
  return where;
}

void describe(const place& where, char* text, std::size_t size) noexcept {
  const char* slash = std::strrchr(where.mapping, '/');
  const char* file = slash != nullptr ? slash + 1 : where.mapping;
  const auto hex = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  if (*where.mapping == '\0') {
    std::snprintf(text, size, "not mapped any more");
  } else if (*where.symbol == '\0') {
    std::snprintf(text, size, "%s+0x%llx", file, hex(where.offset));
  } else if (where.symbol_offset == 0) {
    std::snprintf(text, size, "%s (%s)", where.symbol, file);
  } else {
    std::snprintf(text, size, "%s+0x%llx (%s)", where.symbol, hex(where.symbol_offset), file);
  }
}

}  // namespace readmost::detail
