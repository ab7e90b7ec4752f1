// SPDX-License-Identifier: Apache-2.0
// Memory for locks that can be withdrawn while they exist; a later access is reported as a
// violation instead of a crash.
#pragma once

#include <cstddef>

namespace torture {

class guarded_arena {
 public:
  explicit guarded_arena(std::size_t bytes);
  guarded_arena(const guarded_arena&) = delete;
  guarded_arena& operator=(const guarded_arena&) = delete;
  ~guarded_arena();

  void* at(std::size_t offset) const { return static_cast<char*>(memory_) + offset; }

  // Makes every access fault until open() is called.
  void close();
  void open();

  // Replaces the memory by fresh zeros at the same address.
  void remap();

 private:
  std::size_t bytes_;
  void* memory_;
};

}  // namespace torture
