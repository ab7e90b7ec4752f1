// SPDX-License-Identifier: Apache-2.0
// A form of a pattern's program: before it or after it. Any number of threads read and write; every
// value that they find is checked.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "timed_threads.hpp"

namespace examples {

class form {
 public:
  virtual ~form() = default;

  // So many operations, of which one in `writes_per` is a write; none if that is 0. Returns the
  // number of writes.
  virtual std::uint64_t operate(xorshift& random, unsigned writes_per, unsigned times) = 0;

  // Once all threads have ended: throws unless it has the effect of so many reads and writes.
  virtual void check(std::uint64_t reads, std::uint64_t writes) = 0;
};

struct pattern {
  std::string name;  // as an option has it
  std::string title;
  std::function<std::unique_ptr<form>()> before;
  std::function<std::unique_ptr<form>()> after;
  // The first of several threads only writes, without a pause, and the others only read.
  bool has_busy_writer = false;

  std::unique_ptr<form> make(bool is_after) const { return is_after ? after() : before(); }
};

const std::vector<pattern>& all_patterns();

// T has read(random), write(random) and check(reads, writes).
template <class T>
class form_of final : public form {
 public:
  std::uint64_t operate(xorshift& random, unsigned writes_per, unsigned times) override {
    std::uint64_t writes = 0;
    for (; times != 0; --times) {
      if (writes_per != 0 && scaled(static_cast<std::uint32_t>(random()), writes_per) == 0) {
        program_.write(random);
        ++writes;
      } else {
        program_.read(random);
      }
    }
    return writes;
  }
  void check(std::uint64_t reads, std::uint64_t writes) override { program_.check(reads, writes); }

 private:
  T program_;
};

template <class Before, class After>
pattern made_of(std::string name, std::string title) {
  return {std::move(name), std::move(title), [] { return std::make_unique<form_of<Before>>(); },
          [] { return std::make_unique<form_of<After>>(); }};
}

// One of `count` places, which is a power of two.
inline std::uint32_t any_of(std::uint32_t count, xorshift& random) {
  return static_cast<std::uint32_t>(random() >> 40) & (count - 1);
}

}  // namespace examples
