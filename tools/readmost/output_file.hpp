// SPDX-License-Identifier: Apache-2.0
// Files that options name for results.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace readmost::command {

// Is opened before there is something to write, so that hours of measuring cannot end in a file
// that cannot be written, and changed only then. A named pipe is opened only to be written: it need
// not have a reader before, and nobody waits for one.
class output_file {
 public:
  // Both throw failure, which names the option.
  output_file(std::string option, const std::filesystem::path& name);
  void write(std::string_view text);

  // Removes a file that it has made and not written.
  ~output_file();
  output_file(const output_file&) = delete;
  output_file& operator=(const output_file&) = delete;

 private:
  void open_it();
  [[noreturn]] void fail() const;

  std::string option_;
  std::filesystem::path path_;  // absolute
  int file_ = -1;
  bool is_new_ = false;  // and has nothing in it
};

}  // namespace readmost::command
