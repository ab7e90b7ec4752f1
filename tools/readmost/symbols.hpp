// SPDX-License-Identifier: Apache-2.0
// Names for addresses in the code and the data of another process, from symbol tables and debugging
// information, also where the latter lies in files of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace readmost::command {

// A file that a process has mapped executable.
struct code_mapping {
  std::uintptr_t start = 0;
  std::uintptr_t end = 0;
  std::uint64_t offset = 0;  // in the file
  std::uint64_t inode = 0;   // 0: unknown
  std::string path;

  bool operator==(const code_mapping&) const = default;
};

struct function_name {
  std::string text;    // demangled; "libc.so.6+0x2724a" if not known
  std::string linked;  // as in the symbol table
  std::string source;  // a file; empty if not known
  int line = 0;
};

class symbols {
 public:
  // `root`: the root folder of the process, as /proc/PID/root.
  explicit symbols(std::vector<code_mapping> mappings, std::string root = "");
  ~symbols();
  symbols(const symbols&) = delete;
  symbols& operator=(const symbols&) = delete;

  const std::vector<code_mapping>& mappings() const { return mappings_; }

  // The mapping of a code address; null if there is none.
  const code_mapping* mapping_of(std::uintptr_t address) const;

  // The functions at a code address: those inlined there first, innermost first, then the function
  // itself. Never empty.
  std::vector<function_name> functions_at(std::uintptr_t address);

  // "routes+0x38 (server)" for a variable; empty if none is known there.
  std::string variable_at(std::uintptr_t address);

  // In hexadecimal; empty if the file has none.
  std::string build_id_of(const code_mapping& mapping);

 private:
  struct module;
  module* module_of(const code_mapping& mapping);

  std::vector<code_mapping> mappings_;
  std::string root_;
  std::vector<std::unique_ptr<module>> modules_;  // as mappings_; null: not looked for yet
};

std::string demangled(const std::string& name);

// The part behind the last slash.
std::string_view file_name_of(std::string_view path);

}  // namespace readmost::command
