// SPDX-License-Identifier: Apache-2.0
// Readers that come online or go offline while a writer reaches consensus.
#include "scenarios/lock_scene.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

SCENARIO(dormant_reader_comes_online,
         "a reader that comes online sees the lock closed, or the writer sees the reader",
         effort::small) {
  biased_scene(s).add_trying_reader("reader", be_dormant).add_trying_writer();
}

SCENARIO(new_reader_comes_online,
         "the same for a reader whose record is not yet in the index that writers look at",
         effort::small) {
  biased_scene(s).add_trying_reader("reader", be_known).add_trying_writer();
}

SCENARIO(reader_goes_offline_holding,
         "a writer that does not wait for an offline reader sees its hold", effort::small) {
  const auto read_offline = [](lock_scene& on) {
    if (!test::try_lock_shared_passively(on.lock)) return;
    go_offline();
    on.finish_reading();
  };
  biased_scene(s).thread("reader", be_online, read_offline).add_trying_writer();
}

SCENARIO(reader_goes_offline_after_its_section,
         "a writer sees the end of the sections of a reader that has gone offline", effort::small) {
  const auto leave_and_go_offline = [](lock_scene& on) {
    on.finish_reading();
    go_offline();
  };
  biased_scene(s).thread("reader", hold_passively, leave_and_go_offline).add_trying_writer();
}

SCENARIO(reader_offline_and_back,
         "a reader that goes offline and comes back during a round is not taken for dormant",
         effort::small) {
  const auto come_back_and_read = [](lock_scene& on) {
    go_offline();
    come_online(my_record());
    on.try_read_passively();
  };
  biased_scene(s).thread("reader", be_online, come_back_and_read).add_trying_writer();
}

}  // namespace readmost::model
