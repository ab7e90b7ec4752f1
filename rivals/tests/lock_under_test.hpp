// SPDX-License-Identifier: Apache-2.0
// Locks of any class behind one interface, so that the tests are compiled once.
#pragma once

#include <functional>
#include <memory>

namespace rivals::test {

class lock_under_test {
 public:
  virtual ~lock_under_test() = default;
  virtual void lock() = 0;
  virtual bool try_lock() = 0;
  virtual void unlock() = 0;
  virtual void lock_shared() = 0;
  virtual bool try_lock_shared() = 0;
  virtual void unlock_shared() = 0;
};

using lock_maker = std::function<std::unique_ptr<lock_under_test>()>;

template <class Lock>
lock_maker maker_of() {
  class of_class final : public lock_under_test {
   public:
    void lock() override { lock_.lock(); }
    bool try_lock() override { return lock_.try_lock(); }
    void unlock() override { lock_.unlock(); }
    void lock_shared() override { lock_.lock_shared(); }
    bool try_lock_shared() override { return lock_.try_lock_shared(); }
    void unlock_shared() override { lock_.unlock_shared(); }

   private:
    Lock lock_;
  };
  return [] { return std::make_unique<of_class>(); };
}

}  // namespace rivals::test
