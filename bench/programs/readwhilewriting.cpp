// SPDX-License-Identifier: Apache-2.0
// The benchmark readwhilewriting of RocksDB's db_bench with the options of the BRAVO paper
// (section 5.5, footnote 9), over the distribution's library: readers look up random keys while one
// writer overwrites random ones in place. The library guards each value in its memory table with
// the one pthread_rwlock that --inplace_update_num_locks=1 leaves. Other than in the paper, every
// key exists from the beginning, values are checked, the log is in memory, and keys are in a hash
// table of lists: db_bench's cuckoo table is no longer part of RocksDB.

#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/memtablerep.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "timed_threads.hpp"

namespace {

constexpr std::size_t key_bytes = 16;

// Sixteen digits, as db_bench has them unless keys are binary or prefixed.
class key_text {
 public:
  explicit key_text(std::uint32_t key) {
    for (std::size_t i = key_bytes; i-- > 0; key /= 10)
      text_[i] = static_cast<char>('0' + key % 10);
  }
  rocksdb::Slice slice() const { return {text_.data(), text_.size()}; }

 private:
  std::array<char, key_bytes> text_{};
};

// Its key, then one number over and over: half of one value and half of another show.
class value_text {
 public:
  using word = std::uint32_t;

  value_text(std::uint32_t key, std::uint32_t version, std::size_t words) : words_(words, version) {
    words_.front() = key;
  }
  rocksdb::Slice slice() const {
    return {reinterpret_cast<const char*>(words_.data()), words_.size() * sizeof(word)};
  }

  static bool is_whole(const rocksdb::Slice& text, std::uint32_t key, std::size_t words) {
    if (text.size() != words * sizeof(word)) return false;
    word first = 0;
    std::memcpy(&first, text.data(), sizeof first);
    // Each number is the one before it.
    const char* const numbers = text.data() + sizeof(word);
    return first == key &&
           std::memcmp(numbers, numbers + sizeof(word), (words - 2) * sizeof(word)) == 0;
  }

 private:
  std::vector<word> words_;
};

// Limits a thread to so many operations per second; 0: no limit.
class pace {
 public:
  using clock = std::chrono::steady_clock;

  explicit pace(unsigned per_second)
      : step_{per_second == 0 ? clock::duration{}
                              : clock::duration{std::chrono::seconds{1}} / per_second} {}

  void await_next() {
    if (step_ == clock::duration{}) return;
    if (next_ == clock::time_point{}) next_ = clock::now();
    std::this_thread::sleep_until(next_);
    next_ += step_;
  }

 private:
  clock::duration step_;
  clock::time_point next_{};
};

void require(const rocksdb::Status& status) {
  if (!status.ok()) throw std::runtime_error("RocksDB: " + status.ToString());
}

rocksdb::Options options_of_the_paper(rocksdb::Env* memory) {
  rocksdb::Options options;
  options.env = memory;
  options.create_if_missing = true;
  options.inplace_update_support = true;
  options.inplace_update_num_locks = 1;
  options.allow_concurrent_memtable_write = false;
  options.prefix_extractor.reset(rocksdb::NewFixedPrefixTransform(key_bytes));
  options.memtable_factory.reset(rocksdb::NewHashLinkListRepFactory());
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  std::uint32_t keys = 10'000;
  unsigned value_words = 25;
  unsigned writes_per_second = 0;
  const examples::program program{
      "readwhilewriting",
      "RocksDB's readwhilewriting: --threads readers and one writer besides. An operation is one "
      "read.",
      {{"--keys", &keys, "Number of keys", 1, 1e8},
       {"--value-words", &value_words, "Length of a value, in words of 4 bytes", 2, 1e6},
       {"--writes-per-second", &writes_per_second,
        "Pace of the writer; 0 for no pause between writes", 0, 1e6}}};
  return program.main(argc, argv, [&](examples::settings chosen) {
    const std::unique_ptr<rocksdb::Env> memory{rocksdb::NewMemEnv(rocksdb::Env::Default())};
    rocksdb::DB* opened = nullptr;
    require(rocksdb::DB::Open(options_of_the_paper(memory.get()), "/readwhilewriting", &opened));
    const std::unique_ptr<rocksdb::DB> db{opened};
    const auto write = [&](std::uint32_t key, std::uint32_t version) {
      require(db->Put({}, key_text{key}.slice(), value_text{key, version, value_words}.slice()));
    };
    for (std::uint32_t key = 0; key < keys; ++key) write(key, 0);

    const unsigned writer = chosen.threads++;
    examples::outcome result = examples::run(chosen, [&](unsigned thread) {
      return [&, thread, random = examples::xorshift{thread}, version = std::uint32_t{0},
              next_write = pace{writes_per_second},
              value = std::make_unique<rocksdb::PinnableSlice>()]() mutable {
        const std::uint32_t key = examples::scaled(static_cast<std::uint32_t>(random()), keys);
        if (thread == writer) {
          next_write.await_next();
          write(key, ++version);
          return;
        }
        value->Reset();
        require(db->Get({}, db->DefaultColumnFamily(), key_text{key}.slice(), value.get()));
        examples::require(value_text::is_whole(*value, key, value_words),
                          "a reader got a half-written value: it held the lock beside a writer");
      };
    });

    const double writes = static_cast<double>(result.operations.back()) / result.seconds;
    result.operations.pop_back();
    char line[64];
    std::snprintf(line, sizeof line, "\nthe writer: %.1f writes per second", writes);
    result.remark = line;
    require(db->Close());
    return result;
  });
}
