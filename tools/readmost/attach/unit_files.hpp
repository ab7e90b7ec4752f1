// SPDX-License-Identifier: Apache-2.0
// The files of a systemd unit, as far as `attach` has to know them.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace readmost::command {

class unit_files {
 public:
  // `name` with or without its suffix; `root` is put before the folders of the system. Throws
  // failure for what is no name of a service, or if no such unit is there.
  unit_files(const std::string& name, bool of_user, const std::filesystem::path& root);

  const std::string& name() const { return name_; }

  // Where the administrator's additions to the unit belong.
  std::filesystem::path drop_in(const std::string& file) const { return additions_ / file; }

  // The last value that the unit's files but `except` give to the setting, as `ProtectHome` or to
  // the variable of `Environment`.
  std::optional<std::string> setting(const std::string& name,
                                     const std::filesystem::path& except) const;
  std::optional<std::string> variable(const std::string& name,
                                      const std::filesystem::path& except) const;

 private:
  std::vector<std::string> values(const std::string& name,
                                  const std::filesystem::path& except) const;

  std::string name_;
  std::filesystem::path additions_;
  std::vector<std::filesystem::path> files_;  // in the order in which systemd reads them
};

}  // namespace readmost::command
