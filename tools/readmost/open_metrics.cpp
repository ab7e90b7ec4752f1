// SPDX-License-Identifier: Apache-2.0
#include "open_metrics.hpp"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <utility>

namespace readmost::command {
namespace {

using label = std::pair<const char*, std::string>;
using labels = std::vector<label>;

// The length of the character at the beginning of `s`; 0 if it is no UTF-8 (RFC 3629).
std::size_t utf8_bytes(std::string_view s) {
  const auto byte = [s](std::size_t i) {
    return i < s.size() ? static_cast<unsigned char>(s[i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

// The value of a label: what is no UTF-8 becomes U+FFFD, and a control character is written as in
// C.
std::string escaped(std::string_view value) {
  std::string text;
  while (!value.empty()) {
    const std::size_t bytes = utf8_bytes(value);
    const char c = value.front();
    if (bytes == 0) {
      text += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (c == '\n') {
      text += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      text += fmt::format("\\\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      text += value.substr(0, bytes);
    }
    value.remove_prefix(bytes != 0 ? bytes : 1);
  }
  return text;
}

class exposition {
 public:
  explicit exposition(const std::vector<process_metrics>& processes) : processes_(processes) {}

  using of_process = std::function<void(const process_metrics&, const labels&)>;
  using of_lock = std::function<void(const lock_metrics&, const labels&)>;

  // All samples of a family stand together.
  void add_family(const char* name, const char* type, const char* unit, const char* help,
                  const of_process& add) {
    name_ = name;
    const std::size_t before = text_.size();
    text_ += fmt::format("# TYPE {} {}\n", name, type);
    if (*unit != '\0') text_ += fmt::format("# UNIT {} {}\n", name, unit);
    text_ += fmt::format("# HELP {} {}\n", name, help);
    const std::size_t header = text_.size();
    for (const process_metrics& process : processes_) {
      add(process, {{"program", process.program}, {"pid", std::to_string(process.process)}});
    }
    if (text_.size() == header) text_.resize(before);
  }

  void add_lock_family(const char* name, const char* type, const char* unit, const char* help,
                       const of_lock& add) {
    add_family(name, type, unit, help, [&](const process_metrics& process, labels which) {
      for (const lock_metrics& lock : process.locks) {
        labels all = which;
        all.emplace_back("lock", lock.address);
        all.emplace_back("place", lock.place);
        add(lock, all);
      }
    });
  }

  template <class Number>
  void add(const char* suffix, labels which, Number value) {
    text_ += name_ + suffix + "{";
    const char* separator = "";
    for (const auto& [name, of_label] : which) {
      text_ += fmt::format("{}{}=\"{}\"", separator, name, escaped(of_label));
      separator = ",";
    }
    text_ += fmt::format("}} {}\n", value);
  }

  std::string finished() && { return std::move(text_) + "# EOF\n"; }

 private:
  const std::vector<process_metrics>& processes_;
  std::string name_;
  std::string text_;
};

labels with(labels which, const char* name, std::string value) {
  which.emplace_back(name, std::move(value));
  return which;
}

void add_processes(exposition& text) {
  text.add_family("readmost_process", "info", "", "The process and its lock.",
                  [&](const process_metrics& p, const labels& which) {
                    text.add("_info", with(with(which, "version", p.version), "lock", p.lock), 1);
                  });
  text.add_family("readmost_process_running_seconds", "gauge", "seconds",
                  "Time since the library was loaded.",
                  [&](const process_metrics& p, const labels& which) {
                    if (p.seconds) text.add("", which, *p.seconds);
                  });
  text.add_family("readmost_process_threads", "gauge", "", "Living threads that have used a lock.",
                  [&](const process_metrics& p, const labels& which) {
                    if (p.threads) text.add("", which, *p.threads);
                  });
  text.add_family("readmost_process_locks_used", "counter", "", "Locks used at least once.",
                  [&](const process_metrics& p, const labels& which) {
                    if (p.locks_used) text.add("_total", which, *p.locks_used);
                  });
  text.add_family("readmost_process_reads", "counter", "",
                  "Read locks taken, by whether they took an atomic instruction.",
                  [&](const process_metrics& p, const labels& which) {
                    text.add("_total", with(which, "hold", "passive"), p.passive_reads);
                    text.add("_total", with(which, "hold", "active"), p.active_reads);
                  });
  text.add_family(
      "readmost_process_writes", "counter", "", "Write locks taken.",
      [&](const process_metrics& p, const labels& which) { text.add("_total", which, p.writes); });
  text.add_family("readmost_process_revocations", "counter", "", "Biases taken away by writers.",
                  [&](const process_metrics& p, const labels& which) {
                    text.add("_total", which, p.revocations);
                  });
  text.add_family("readmost_process_rounds", "counter", "", "Rounds of consensus, by their means.",
                  [&](const process_metrics& p, const labels& which) {
                    text.add("_total", with(which, "by", "reports"), p.rounds_by_reports);
                    text.add("_total", with(which, "by", "membarrier"), p.rounds_by_membarrier);
                  });
}

void add_waits(exposition& text) {
  constexpr std::array<std::pair<const char*, wait_metrics lock_metrics::*>, 2> sides{
      {{"readers", &lock_metrics::readers}, {"writers", &lock_metrics::writers}}};
  const auto add_side = [&](const lock_metrics& lock, const labels& which, const auto& add) {
    for (const auto& [name, side] : sides) {
      if ((lock.*side).count != 0) add(lock.*side, with(which, "by", name));
    }
  };
  text.add_lock_family("readmost_wait_seconds", "summary", "seconds",
                       "Waits for a lock; a quantile is up to a quarter above the measured value.",
                       [&](const lock_metrics& lock, const labels& which) {
                         add_side(lock, which, [&](const wait_metrics& w, const labels& of_side) {
                           text.add("", with(of_side, "quantile", "0.5"), w.p50);
                           text.add("", with(of_side, "quantile", "0.99"), w.p99);
                           text.add("_count", of_side, w.count);
                           text.add("_sum", of_side, w.seconds);
                         });
                       });
  text.add_lock_family("readmost_longest_wait_seconds", "gauge", "seconds",
                       "The longest wait for a lock so far.",
                       [&](const lock_metrics& lock, const labels& which) {
                         add_side(lock, which, [&](const wait_metrics& w, const labels& of_side) {
                           text.add("", of_side, w.longest);
                         });
                       });
}

void add_locks(exposition& text) {
  text.add_lock_family("readmost_reads", "counter", "",
                       "Read locks taken, by whether they took an atomic instruction.",
                       [&](const lock_metrics& lock, const labels& which) {
                         text.add("_total", with(which, "hold", "passive"), lock.passive_reads);
                         text.add("_total", with(which, "hold", "active"), lock.active_reads);
                       });
  text.add_lock_family("readmost_writes", "counter", "", "Write locks taken.",
                       [&](const lock_metrics& lock, const labels& which) {
                         text.add("_total", which, lock.writes);
                       });
  text.add_lock_family("readmost_revocations", "counter", "", "Biases taken away by writers.",
                       [&](const lock_metrics& lock, const labels& which) {
                         text.add("_total", which, lock.revocations);
                       });
  text.add_lock_family("readmost_revocation_seconds", "counter", "seconds",
                       "Time that revocations took until every thread had noticed.",
                       [&](const lock_metrics& lock, const labels& which) {
                         if (lock.revoking_seconds) {
                           text.add("_total", which, *lock.revoking_seconds);
                         }
                       });
  add_waits(text);
  text.add_lock_family("readmost_longest_write_hold_seconds", "gauge", "seconds",
                       "The longest write hold of those that were timed.",
                       [&](const lock_metrics& lock, const labels& which) {
                         if (lock.longest_write_seconds) {
                           text.add("", which, *lock.longest_write_seconds);
                         }
                       });
  text.add_lock_family("readmost_longest_wait_for_readers_seconds", "gauge", "seconds",
                       "The longest time that a writer waited for passive readers inside.",
                       [&](const lock_metrics& lock, const labels& which) {
                         if (lock.longest_drain_seconds) {
                           text.add("", which, *lock.longest_drain_seconds);
                         }
                       });
}

}  // namespace

std::string as_open_metrics(const std::vector<process_metrics>& processes) {
  exposition text(processes);
  add_processes(text);
  add_locks(text);
  return std::move(text).finished();
}

}  // namespace readmost::command
