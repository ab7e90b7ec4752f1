// SPDX-License-Identifier: Apache-2.0
// The models in which memory has one value at a time: sequential consistency, and the base of
// x86-TSO.
#pragma once

#include "engine/synchronization.hpp"

namespace readmost::model {

class sequential_memory : public memory {
 public:
  void start(execution& run) override;
  void perform(execution& run, simulated_thread& who, operation& what) override;
  relation relate(const footprint& first, const footprint& second) const override;
  bool race(const footprint& first, const footprint& second) const override;
  bool orders(const footprint& first, const footprint& second) const override;
  bool has_changed(const simulated_thread& who, const look& at) const override;

 protected:
  void read(simulated_thread& who, operation& what);
  void update(execution& run, simulated_thread& who, operation& what);
  static void write(location& where, const message& stored);

  synchronization sync_;
};

}  // namespace readmost::model
