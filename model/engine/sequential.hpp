// The models in which memory has one value at a time: sequential consistency, and what x86-TSO
// adds to it.
#pragma once

#include "engine/synchronization.hpp"

namespace readmost::model {

class sequential_memory : public memory {
 public:
  bool is_ready(const simulated_thread& who, const operation& what) const override;
  bool has_buffered(unsigned thread) const override;
  bool can_drain(const simulated_thread& who) const override;
  bool drains(const operation& what) const override;
  void sink_last_store(unsigned thread) override;
  void perform(execution& run, simulated_thread& who, operation& what) override;
  std::uint32_t drain(execution& run, unsigned thread) override;
  location* oldest_buffered(unsigned thread) const override;
  void footprint_of(const simulated_thread& who, const operation& what,
                    footprint& made) const override;
  relation relate(const footprint& first, const footprint& second) const override;
  bool race(const footprint& first, const footprint& second) const override;
  bool orders(const footprint& first, const footprint& second) const override;
  bool can_read_since(const simulated_thread& who, const operation& what,
                      std::uint32_t since) const override;
  bool has_changed(const simulated_thread& who, const look& at) const override;
  std::uint32_t read_from() const override;
  void start(execution& run) override;
  std::string buffered(const execution& run, unsigned thread) const override;

 protected:
  void read(simulated_thread& who, operation& what);
  void update(execution& run, simulated_thread& who, operation& what);
  static void write(location& where, const message& stored);

  synchronization sync_;
};

}  // namespace readmost::model
