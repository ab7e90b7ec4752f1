// Locks that are freed as soon as nobody is inside: whoever has left must not touch them any more.
#include "scenarios/situations.hpp"

namespace readmost::model {

namespace {

// The usual way to free an object together with its lock.
void lock_and_destroy(rwlock& lock, guarded& data) {
  write_under(lock, data);
  destroy(lock);
}

}  // namespace

SCENARIO(freed_after_passive_reader, "a passive reader does not touch the lock after its unlock",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", [&] { hold_passively(lock); }, [&] { finish_reading(lock, data); });
  s.thread("last user", be_known, [&] { lock_and_destroy(lock, data); });
}

SCENARIO(freed_after_active_reader, "an active reader does not touch the lock after its unlock",
         effort::small) {
  s.turns(0);
  auto& lock = unbiased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("reader", [&] { hold_actively(lock); }, [&] { finish_reading(lock, data); });
  s.thread("last user", be_known, [&] { lock_and_destroy(lock, data); });
}

SCENARIO(freed_after_two_readers, "no reader touches the lock after the unlock of the last one",
         effort::medium) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  const auto enter = [&] { hold_passively(lock); };
  const auto leave = [&] { finish_reading(lock, data); };
  s.thread("reader", enter, leave);
  s.thread("other reader", enter, leave);
  s.thread("last user", be_known, [&] { lock_and_destroy(lock, data); });
}

SCENARIO(freed_after_writer, "a writer does not touch the lock after its unlock", effort::small) {
  s.turns(0);
  auto& lock = unbiased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("writer", [&] { hold_alone(lock); }, [&] { finish_writing(lock, data); });
  s.thread("last user", be_known, [&] { lock_and_destroy(lock, data); });
}

SCENARIO(freed_after_writer_that_gave_the_bias,
         "a writer that leaves the lock biased does not touch it after its unlock", effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread("writer", [&] { hold_alone(lock); }, [&] { finish_writing(lock, data); });
  s.thread("last user", be_known, [&] { lock_and_destroy(lock, data); });
}

SCENARIO(freed_after_downgrade, "who downgraded does not touch the lock after its read unlock",
         effort::small) {
  s.turns(0);
  auto& lock = unbiased_lock(s);
  auto& data = s.make<guarded>("data");
  s.thread(
      "writer", [&] { hold_alone(lock); },
      [&] {
        data.write();
        downgrade(lock, {});
        finish_reading(lock, data);
      });
  s.thread("last user", be_known, [&] { lock_and_destroy(lock, data); });
}

SCENARIO(freed_after_try, "a reader that left passively does not touch the lock when it reports",
         effort::small) {
  s.turns(0);
  auto& lock = biased_lock(s);
  auto& other = biased_lock(s, "other");
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader",
      [&] {
        hold_passively(other);
        unit::lock_shared(lock);
      },
      [&] {
        finish_reading(lock, data);
        unit::unlock_shared(other);
      });
  s.thread("last user", be_known, [&] {
    if (try_write_under(lock, data)) destroy(lock);
  });
}

}  // namespace readmost::model
