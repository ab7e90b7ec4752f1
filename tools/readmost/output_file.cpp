// SPDX-License-Identifier: Apache-2.0
#include "output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "failure.hpp"

namespace readmost::command {

output_file::output_file(std::string option, const std::filesystem::path& name)
    : option_(std::move(option)), path_(std::filesystem::absolute(name).lexically_normal()) {
  std::error_code unknown;
  if (!std::filesystem::is_fifo(path_, unknown)) open_it();
}

output_file::~output_file() {
  if (file_ >= 0) close(file_);
  if (is_new_) unlink(path_.c_str());
}

void output_file::write(std::string_view text) {
  if (file_ < 0) open_it();
  // What is no regular file has no length.
  if (ftruncate(file_, 0) != 0 && errno != EINVAL) fail();
  while (!text.empty()) {
    const ssize_t some = ::write(file_, text.data(), text.size());
    if (some < 0 && errno == EINTR) continue;
    if (some < 0) fail();
    text.remove_prefix(static_cast<std::size_t>(some));
  }
  is_new_ = false;
}

void output_file::open_it() {
  constexpr int flags = O_WRONLY | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  file_ = open(path_.c_str(), flags | O_EXCL, 0666);
  is_new_ = file_ >= 0;
  if (file_ < 0 && errno == EEXIST) file_ = open(path_.c_str(), flags, 0666);
  if (file_ < 0) fail();
  // A reader may take its time.
  fcntl(file_, F_SETFL, fcntl(file_, F_GETFL) & ~O_NONBLOCK);
}

void output_file::fail() const {
  const int error = errno;
  throw failure("{}: cannot write '{}': {}; name a file you may write", option_, path_.string(),
                error == ENXIO ? "nobody reads from this pipe" : std::strerror(error));
}

}  // namespace readmost::command
