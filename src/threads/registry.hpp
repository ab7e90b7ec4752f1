// Walks over the records of domains, and other internals of membership.
#pragma once

#include <readmost/detail/platform/bits.hpp>
#include <readmost/detail/threads/domain.hpp>

namespace readmost::detail {

// Calls visit(entry, chunk) for every entry of the index until it returns false; true if it never
// does.
template <class Visit>
bool for_each_entry(const domain& d, Visit visit) noexcept {
  // (R3) Pairs with (R4) in registry.cpp: the chunk is filled, and so is the block.
  for (index_block* block = d.index.load(platform::relaxed); block != nullptr;
       block = block->next.load(at(letter::R3, platform::acquire))) {
    for (index_entry& entry : block->entries) {
      chunk* const c = entry.records.load(at(letter::R3, platform::acquire));
      if (c == nullptr) return true;
      if (!visit(entry, *c)) return false;
    }
  }
  return true;
}

// Calls visit(chunk) for every chunk of records until it returns false; true if it never does.
template <class Visit>
bool for_each_chunk(const domain& d, Visit visit) noexcept {
  return for_each_entry(d, [&](index_entry&, chunk& c) { return visit(c); });
}

// Calls visit(record, belongs_to_a_thread) for every record ever made.
template <class Visit>
void for_each_record(domain& d, Visit visit) noexcept {
  for_each_chunk(d, [&](chunk& c) {
    const std::uint64_t used = c.used.load(platform::relaxed);
    for (std::uint32_t i = 0; i < chunk::capacity; ++i) {
      visit(c.records[i], (used & bit(i)) != 0);
    }
    return true;
  });
}

// Calls visit(record) for every record in the index, until it returns false. Only threads in the
// index can lock passively or hold passively.
template <class Visit>
void for_each_present(domain& d, Visit visit) noexcept {
  for_each_entry(d, [&](index_entry& entry, chunk& c) {
    // (R8) Pairs with (T3) in consensus.cpp: the sections of threads that have left the index
    // happen before this.
    return for_each_bit(entry.present.load(at(letter::R8, platform::acquire)),
                        [&](std::uint32_t number) { return visit(c.records[number]); });
  });
}

// Calls visit(domain) for every domain.
template <class Visit>
void for_each_domain(Visit visit) noexcept {
  for (domain& d : domains) visit(d);
}

// Whether threads of this process can lock passively at all, which takes a heavy fence.
bool passive_possible() noexcept;
// From now on no thread can come online: the heavy fence has failed.
void forbid_passive() noexcept;

// In a fork's child, before the registry frees them: calls visit(record) for every record whose
// thread does not exist in the child, even where that thread had only just taken it, and for one
// that the calling thread is taking or giving back, which holds nothing.
template <class Visit>
void for_each_orphan(Visit visit) noexcept {
  for_each_domain([&](domain& d) {
    const thread_record& mine = my_record(number_of(d));
    for_each_record(d, [&](thread_record& record, bool used) {
      if (used && &record != &mine) visit(record);
    });
  });
}

// In a fork's child, where no thread wants or runs a membarrier.
void forget_fences() noexcept;

}  // namespace readmost::detail
