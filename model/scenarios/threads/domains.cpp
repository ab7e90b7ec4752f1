// Domains of one's own.
#include <readmost/lock_domain.hpp>

#include "scenarios/situations.hpp"
#include "threads/registry.hpp"

namespace readmost::model {

namespace {

rwlock& biased_lock_of(scenario& s, const lock_domain& domain) {
  rwlock& lock = biased_lock(s);
  lock.domain = static_cast<std::uint8_t>(domain.number());
  return lock;
}

}  // namespace

SCENARIO(own_domain_reader_against_writer, "a writer asks the threads of its lock's domain",
         effort::small) {
  s.turns(0);
  auto& own = s.make<lock_domain>("own domain");
  auto& lock = biased_lock_of(s, own);
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader", [&] { come_online(*enlist(own.number())); },
      [&] {
        if (try_lock_shared_passive(lock, my_record(own.number()))) finish_reading(lock, data);
      });
  s.thread("writer", [&] { enlist(own.number()); }, [&] { try_write_under(lock, data); });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(own_domain_asks_no_others, "a writer does not ask threads of another domain",
         effort::small) {
  s.turns(0);
  auto& own = s.make<lock_domain>("own domain");
  auto& lock = biased_lock_of(s, own);
  auto& other = biased_lock(s, "other");
  auto& data = s.make<guarded>("data");
  s.thread("reader", [&] { hold_passively(other); }, [&] { unit::unlock_shared(other); });
  s.thread(
      "writer", [&] { enlist(own.number()); },
      [&] {
        write_under(lock, data);
        expect(default_domain.version.load(platform::relaxed) == 0,
               "a round of one domain has been one of another");
      });
  s.finally([&] { expect_all_given_back(lock); });
}

SCENARIO(holds_in_two_domains, "a reader with holds in two domains is waited for in each",
         effort::small) {
  s.turns(0);
  auto& own = s.make<lock_domain>("own domain");
  auto& lock = biased_lock_of(s, own);
  auto& other = biased_lock(s, "other");
  auto& data = s.make<guarded>("data");
  s.thread(
      "reader",
      [&] {
        be_online();
        come_online(*enlist(own.number()));
        unit::lock_shared(other);
        unit::lock_shared(lock);
      },
      [&] {
        unit::unlock_shared(other);
        finish_reading(lock, data);
      });
  s.thread("writer", [&] { enlist(own.number()); }, [&] { try_write_under(lock, data); });
  s.finally([&] {
    expect_all_given_back(lock);
    expect_all_given_back(other);
  });
}

SCENARIO(number_of_a_domain_passes_on,
         "who gets the number of a domain that is over finds the records of it", effort::small) {
  auto& seen_first = s.make<variable<chunk*>>("chunk seen by the first");
  auto& seen_second = s.make<variable<chunk*>>("chunk seen by the second");
  auto& number_of_first = s.make<variable<unsigned>>("number of the first");
  auto& number_of_second = s.make<variable<unsigned>>("number of the second");
  const auto use = [](variable<unsigned>& number, variable<chunk*>& seen) {
    const lock_domain own;
    number = own.number();
    seen = enlist(own.number())->home.get();
  };
  s.thread("first", [&, use] { use(number_of_first, seen_first); });
  s.thread("second", [&, use] { use(number_of_second, seen_second); });
  s.finally([&] {
    expect(number_of_first.get() != number_of_second.get() || seen_first.get() == seen_second.get(),
           "the records of a domain are lost");
  });
}

}  // namespace readmost::model
