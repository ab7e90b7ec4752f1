// SPDX-License-Identifier: Apache-2.0
// The interfaces under which the benchmarks use RCU and its rivals. A virtual function runs a whole
// loop over read sections, so that inline functions are inlined in it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <readmost/hazard_pointer.hpp>
#include <string>
#include <vector>

namespace bench {

// The object that readers read. Only our hazard pointers need the base class.
struct data : readmost::hazard_pointer_obj_base<data> {
  explicit data(std::uint64_t initial) : value(initial) {}
  std::uint64_t value;
};

// Where readers find the object.
struct alignas(64) shared_cell {
  std::atomic<data*> current;
};

class read_side {
 public:
  virtual ~read_side() = default;

  virtual std::string name() const = 0;
  // Each thread must call these before and after it uses the other functions.
  virtual void begin_thread() = 0;
  virtual void end_thread() = 0;

  // Reads so many times, each in a section of its own; returns the sum of the values.
  virtual std::uint64_t read(const shared_cell& from, unsigned times) = 0;
  // Reads until it is stopped, and stores the number of reads so far in `reads`.
  virtual void read_until(const std::atomic<bool>& stopped, const shared_cell& from,
                          std::atomic<std::uint64_t>& reads) = 0;
  // Calls inside() in a section that protects the object that the cell points to.
  virtual void hold(const shared_cell& from, const std::function<void()>& inside) = 0;
};

class replacing_side : public read_side {
 public:
  // Makes the cell point to `fresh`. Returns the former object once no reader can have it.
  virtual data* replace(shared_cell& cell, data* fresh) = 0;
};

// The payload of retired objects: 64 bytes in all, with the two pointers by which they are queued.
struct retired_load {
  std::function<void()>* reclaimed;  // may be null
  std::byte rest[40];
};

class rcu_flavor : public replacing_side {
 public:
  // Announces a quiescent state, for QSBR: to be called now and then by threads that neither read
  // nor pause.
  virtual void quiescent() = 0;
  // Must enclose a wait for any other event: takes a thread of QSBR offline.
  virtual void pause() = 0;
  virtual void resume() = 0;

  virtual void synchronize() = 0;
  // Makes an object and retires it; its reclamation calls *reclaimed.
  virtual void retire(std::function<void()>* reclaimed) = 0;
  virtual void barrier() = 0;
  // From now on objects do not wait for others to share a grace period, where that can be chosen.
  virtual void hurry() = 0;
};

// All sides that the build found; Readmost's first.
std::vector<std::unique_ptr<read_side>> all_read_sides();
std::vector<std::unique_ptr<replacing_side>> all_replacing_sides();
std::vector<std::unique_ptr<rcu_flavor>> all_rcu_flavors();

// Each is made in a file that includes no other's headers: liburcu's flavors share names.
std::unique_ptr<rcu_flavor> make_readmost_rcu();
std::unique_ptr<rcu_flavor> make_liburcu_memb();
std::unique_ptr<rcu_flavor> make_liburcu_bp();
std::unique_ptr<rcu_flavor> make_liburcu_qsbr();
std::unique_ptr<rcu_flavor> make_liburcu_mb();
std::unique_ptr<replacing_side> make_readmost_shared_mutex();
std::unique_ptr<replacing_side> make_std_shared_mutex();
std::unique_ptr<replacing_side> make_brlock_of_spinlocks();
std::unique_ptr<replacing_side> make_brlock_of_mutexes();
std::unique_ptr<read_side> make_readmost_rcu_domain();
std::unique_ptr<read_side> make_readmost_hazard_pointer();
std::unique_ptr<read_side> make_asymmetric_hazard_pointer();

}  // namespace bench
