// SPDX-License-Identifier: Apache-2.0
// Walks over the records of domains, and other internals of membership.
#pragma once

#include <bit>
#include <readmost/detail/platform/bits.hpp>
#include <readmost/detail/threads/domain.hpp>

namespace readmost::detail {

// Visits the entries of the index one after the other.
class entry_walk {
 public:
  explicit entry_walk(const domain& d) noexcept : block_(d.index.load(platform::relaxed)) {
    follow();
  }

  // Null at the end.
  chunk* records() const noexcept { return records_; }
  // Precondition: not at the end.
  index_entry& entry() const noexcept { return block_->entries[number_]; }

  void next() noexcept {
    // (R3) Pairs with (R4) in registry.cpp: the chunk is filled, and so is the block.
    if (++number_ == index_block::capacity) {
      block_ = block_->next.load(at(letter::R3, platform::acquire));
      number_ = 0;
    }
    follow();
  }

 private:
  void follow() noexcept {
    records_ =
        block_ == nullptr ? nullptr : entry().records.load(at(letter::R3, platform::acquire));
  }

  index_block* block_;
  std::size_t number_ = 0;
  chunk* records_ = nullptr;
};

// Calls visit(chunk) for every chunk of records until it returns false; true if it never does.
template <class Visit>
bool for_each_chunk(const domain& d, Visit visit) noexcept {
  for (entry_walk walk(d); walk.records() != nullptr; walk.next()) {
    if (!visit(*walk.records())) return false;
  }
  return true;
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

// The threads that have a record in the chunk.
inline unsigned threads_in(const chunk& records) noexcept {
  return static_cast<unsigned>(std::popcount(records.used.load(platform::relaxed)));
}

// Whether one thread alone has a record; a hint.
inline bool has_one_thread(const domain& d) noexcept {
  entry_walk walk(d);
  if (walk.records() == nullptr ||
      !std::has_single_bit(walk.records()->used.load(platform::relaxed)))
    return false;
  walk.next();
  return walk.records() == nullptr;
}

// Whether no other thread's record is in the index, so that none but the caller can hold passively.
// The caller's own need not be there.
inline bool is_alone_in_index(const domain& d, const thread_record& me) noexcept {
  const index_entry* const mine = &entry_of(me);
  for (entry_walk walk(d); walk.records() != nullptr; walk.next()) {
    // (R8) As in registry.cpp.
    const std::uint64_t present = walk.entry().present.load(at(letter::R8, platform::acquire));
    const std::uint64_t own = &walk.entry() == mine ? bit(number_of(me)) : 0;
    if ((present & ~own) != 0) return false;
  }
  return true;
}

// How many lines of records ahead are fetched. Cores have room for 10 to 24 cache misses at a time.
inline constexpr std::uint32_t lines_ahead = 24;
static_assert(lines_ahead < chunk::capacity);  // no more than one chunk ahead

// What a walk fetches of the records ahead of it: the line with reports and modes, or the one with
// most slots as well.
enum class fetched : std::uint8_t { reports, slots_too };

// Visits the records in the index one after the other. Only threads in the index can lock passively
// or hold passively. What rounds read of a record lies in a cache that is not the caller's: next()
// fetches the lines of several records at a time.
class present_walk {
 public:
  // Leaves out `but`, which may be null, and records that have reported version `settled_since`, if
  // that is not 0, while they held nothing, as far as the report for their chunk says so.
  explicit present_walk(domain& d, const thread_record* but = nullptr,
                        fetched what = fetched::reports, std::uint64_t settled_since = 0) noexcept;

  // Null at the end.
  thread_record* record() const noexcept { return record_; }

  void next() noexcept;

  // As next(), but comes back to the record before it leaves the chunk.
  void put_off() noexcept;

  // Whether there is a next chunk for which one of its threads reports.
  bool is_next_chunk_reported() const noexcept;

  // Fetches the lines of the next records once more: others have written them since.
  void fetch_again() noexcept;

 private:
  void fetch_from_here() noexcept;
  void fetch() noexcept;
  bool looks_into_next_chunk() noexcept;
  void settle() noexcept;
  void enter_chunk() noexcept;
  void enter_next_chunk() noexcept;
  void fetch_reports() noexcept;
  bool come_back() noexcept;

  entry_walk entries_;
  std::uint64_t left_ = 0;     // records of the chunk, a bit for each: this one and later ones
  std::uint64_t put_off_ = 0;  // those to come back to
  // Where the walk fetches: in the same chunk, or behind one that is full in the next.
  entry_walk ahead_;
  std::uint64_t unfetched_ = 0;  // records of that chunk that have not been fetched
  std::uint32_t fetched_ = 0;    // how many have been and are yet to be visited
  bool is_ahead_ = false;        // whether that is another chunk
  bool is_full_ = false;         // whether all records of the chunk are in the index
  bool ahead_is_full_ = false;   // the same of the chunk of `ahead_`
  const thread_record* const but_;
  const fetched what_;
  const std::uint64_t settled_since_;
  bool behind_first_chunk_ = false;
  thread_record* record_ = nullptr;
};

// Goes on to the first record that names `lock` in a slot; true at the end. For a walk that begins
// when nobody can lock passively any more: no record needs a second look.
bool pass_released(present_walk& walk, const void* lock) noexcept;

// Calls visit(record) for every record in the index, until it returns false.
template <class Visit>
void for_each_present(domain& d, Visit visit, fetched what = fetched::reports,
                      std::uint64_t settled_since = 0) noexcept {
  for (present_walk walk(d, nullptr, what, settled_since); walk.record() != nullptr; walk.next()) {
    if (!visit(*walk.record())) return;
  }
}

// Calls visit(domain) for every domain.
template <class Visit>
void for_each_domain(Visit visit) noexcept {
  for (domain& d : domains) visit(d);
}

// Whether threads of this process can come online, which takes a heavy fence; else their passive
// holds are fenced. The first call asks the kernel.
bool membarrier_works() noexcept;
// Whether it is known that it does not; false until somebody has asked.
bool is_membarrier_missing() noexcept;
// From now on no thread can come online: the heavy fence has failed.
void give_up_membarrier() noexcept;

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
