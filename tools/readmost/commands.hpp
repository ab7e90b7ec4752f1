// SPDX-License-Identifier: Apache-2.0
// The subcommands, and their options with defaults. Those that return give the exit status.
#pragma once

#include <string>
#include <vector>

namespace readmost::command {

struct run_options {
  std::string lock;    // empty: READMOST_LOCK decides
  std::string prefer;  // empty: READMOST_PREFER decides
  std::string stats;   // empty: READMOST_STATS decides; "-": on stderr
  bool backtrace = false;
  std::string profile;  // empty: none
  bool scheduler_help = false;
};

struct compare_options {
  int runs = 5;
  std::vector<std::string> locks{"glibc", "prwlock"};  // the first is the baseline
  std::string metric;                                  // empty: wall time
  bool lower = false;
  std::string json;
  double timeout = 600;
};

struct top_options {
  int pid = 0;
  double delay = 1;
  unsigned count = 0;  // 0: until the process ends
  bool once = false;
  bool json = false;
  std::string open_metrics;  // a file, or "-" for stdout, instead of blocks; empty: none
  std::string profile;       // a file, instead of blocks; empty: none
  double seconds = 10;       // of the profile
};

struct holders_options {
  int pid = 0;
  std::string core;     // a file; empty: the process `pid`
  std::string program;  // of the core file; may be empty
  std::string json;     // empty: none; "-": on stdout, instead of the page
};

struct doctor_options {
  bool quick = false;
  bool json = false;
  std::string calibrate;      // the machine file to write instead; empty: none
  bool only_pthread = false;  // internal: measure pthread_rwlock_t in this process, print JSON
};

struct attach_options {
  std::string unit;
  bool of_user = false;
  bool remove = false;
  std::string lock;  // these three as for run
  std::string prefer;
  std::string stats;
  std::string root;  // before the folders of the system
};

// Replaces this process by the program, or stays until its end if there is something to write then;
// returns only by throwing failure.
[[noreturn]] void run(const run_options& options, std::vector<std::string> program);

int compare(const compare_options& options, std::vector<std::string> program);
int top(const top_options& options);
int holders(const holders_options& options);
int attach(const attach_options& options);
int doctor(const doctor_options& options);

// Runs `bench` or `report`, which are written in Python: evaluation/ in the sources,
// share/readmost/evaluation once installed. Replaces this process by Python; `words` is our command
// line. Throws failure when Python or a module that it needs is missing.
[[noreturn]] void evaluate(const std::vector<std::string>& words);

// Replaces this process by a program of that name, readmost-simulate or readmost-advise, which lies
// beside this one; `words` is our command line. Throws failure if it is not there.
[[noreturn]] void run_built_program(const std::string& name, const std::vector<std::string>& words);

}  // namespace readmost::command
