// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "failure.hpp"

namespace readmost::command {

// A new folder for temporary files, in TMPDIR or /tmp, that goes with this object.
class scratch_folder {
 public:
  scratch_folder() {
    std::error_code unknown;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(unknown);
    std::string name = ((unknown ? "/tmp" : parent) / "readmost-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw failure("cannot make a folder '{}': {}; set TMPDIR to a folder you may write", name,
                    std::strerror(errno));
    }
    path_ = name;
  }
  ~scratch_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace readmost::command
