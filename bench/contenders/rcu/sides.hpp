// The interfaces under which the benchmarks use RCU and what competes with it. Loops over read
// sections are behind the virtual functions, not around them, so what is inline stays inline.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <readmost/hazard_pointer.hpp>
#include <string>
#include <vector>

namespace bench {

// What readers read. Our hazard pointers protect only what has this base; the others have no use
// for it.
struct data : readmost::hazard_pointer_obj_base<data> {
  explicit data(std::uint64_t initial) : value(initial) {}
  std::uint64_t value;
};

// Where they find it.
struct alignas(64) shared_cell {
  std::atomic<data*> current;
};

class read_side {
 public:
  virtual ~read_side() = default;

  virtual std::string name() const = 0;
  // To be called by each thread before it uses what follows, and when it will not any more.
  virtual void begin_thread() = 0;
  virtual void end_thread() = 0;

  // Reads so many times, each in a section of its own; the sum of what was read.
  virtual std::uint64_t read(const shared_cell& from, unsigned times) = 0;
  // Reads until it is stopped, and says in `reads` how often it has so far.
  virtual void read_until(const std::atomic<bool>& stopped, const shared_cell& from,
                          std::atomic<std::uint64_t>& reads) = 0;
  // Calls inside() in a section, in which what the cell points to is used.
  virtual void hold(const shared_cell& from, const std::function<void()>& inside) = 0;
};

class replacing_side : public read_side {
 public:
  // Has the cell point to `fresh`; returns what it pointed to, once nobody reads that any more.
  virtual data* replace(shared_cell& cell, data* fresh) = 0;
};

// What retired objects carry: 64 bytes in all, with the two pointers by which they are queued.
struct retired_load {
  std::function<void()>* reclaimed;  // may be null
  std::byte rest[40];
};

class rcu_flavor : public replacing_side {
 public:
  // To be called now and then, outside of sections, by threads that neither read nor pause: QSBR
  // wants to know that they are outside.
  virtual void quiescent() = 0;
  // Around a wait for something else, which QSBR has to be told too.
  virtual void pause() = 0;
  virtual void resume() = 0;

  virtual void synchronize() = 0;
  // Makes an object and retires it; it calls *reclaimed when its time has come.
  virtual void retire(std::function<void()>* reclaimed) = 0;
  virtual void barrier() = 0;
};

// Those that the build found; ours first.
std::vector<std::unique_ptr<read_side>> all_read_sides();
std::vector<std::unique_ptr<replacing_side>> all_replacing_sides();
std::vector<std::unique_ptr<rcu_flavor>> all_rcu_flavors();

template <class Side>
std::vector<std::string> names_of(const std::vector<std::unique_ptr<Side>>& sides) {
  std::vector<std::string> names;
  for (const auto& side : sides) names.push_back(side->name());
  return names;
}

// The one with that name; there is one.
template <class Side>
Side& named(const std::vector<std::unique_ptr<Side>>& sides, const std::string& name) {
  for (const auto& side : sides) {
    if (side->name() == name) return *side;
  }
  std::abort();
}

// A thread that uses a side, in scope.
class user_of {
 public:
  explicit user_of(read_side& side) : side_(side) { side_.begin_thread(); }
  ~user_of() { side_.end_thread(); }
  user_of(const user_of&) = delete;
  user_of& operator=(const user_of&) = delete;

 private:
  read_side& side_;
};

}  // namespace bench
