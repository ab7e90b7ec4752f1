// SPDX-License-Identifier: Apache-2.0
// The texts of --help, before and after the list of options.
#pragma once

namespace readmost::command::help {

constexpr const char* readmost =
    R"(Readmost provides reader-writer locks whose readers execute no atomic read-modify-write and no
fence. This command puts them under an unmodified program, by preloading a library that replaces
pthread_rwlock_*. `run` runs a program that way; `compare` measures what the program gains; `top`
shows the locks of a running program, `holders` who holds them; `doctor` examines this machine;
`attach` puts the library under a systemd service; `bench` measures the figures of the papers, and
`report` shows the results.
)";

constexpr const char* readmost_footer =
    R"(Examples:
  readmost run -- ./server --port 8080
  readmost run --stats -- ./server --port 8080
  readmost compare -- ./bench
  readmost compare --metric '([0-9.]+) ops/s' -- ./bench --threads 2
  readmost top -p $(pidof server)
  readmost holders -p $(pidof server)
  readmost doctor
  readmost bench all && readmost report out.html

Exit status: `run` returns the program's own, `compare` 0 when every run gave a number, `doctor`
0 when readers can be passive here; 125, 126 and 127 are errors of this command. The help of each
subcommand lists them.

Environment: READMOST_LOCK, READMOST_PREFER and READMOST_STATS replace options that are not
given; READMOST_LIBRARY is the library to preload. See 'readmost run --help'.)";

constexpr const char* other_locks =
    R"(  ba, pf-t         phase-fair locks on queues and on tickets (Brandenburg and Anderson)
  per-cpu          an array of ba, one for each CPU
  cohort-rw        readers counted by NUMA node (C-RW-WP); RIVALS_NODES=n simulates n nodes
  brlock           Linux 2.4's big-reader lock: a small lock for each CPU
  brlock-flags     the same with a flag for each reader
  rmlock           FreeBSD's read-mostly lock
  percpu-rwlock    Linux's per-CPU semaphore, whose writer waits for a grace period
  c-snzi           readers counted in a tree that a writer can close
  tlrw             a byte for each reader (TLRW)
  stamped          Java's StampedLock
  bravo-pthread    BRAVO over glibc's lock
  bravo-ba         ... over ba; bravo-prwlock: over prwlock; bravo-mutex: over glibc's mutex
  bravo-consensus  bravo-pthread whose readers execute no atomic instruction
A program may hang if it needs what such a lock does not offer: see docs/pthread-contract.md.
)";

constexpr const char* run =
    R"(Run a program with Readmost's locks.

Runs PROGRAM with the Readmost library preloaded, so that each pthread_rwlock_t in it becomes a
Readmost lock (including those inside std::shared_mutex, OpenSSL, GLib and so on), without
recompiling anything. The command replaces itself by the program: its process id, stdin, signals
and exit status are the program's own. Only for --profile and OpenMetrics it stays until the program
ends, and passes signals on. Libraries that LD_PRELOAD names already are kept, behind Readmost's.
)";

constexpr const char* run_footer = R"(
Examples:
  readmost run -- ./server --port 8080
  readmost run --stats -- openssl speed rand
  readmost run --stats=locks.json --prefer writer -- node app.js
  readmost run --profile graph.svg -- ./server
  readmost run --lock pthread -- ./server      glibc's locks, through a library

Exit status: the program's own, except
  125  readmost failed: wrong option, no library, unwritable file
  126  the program cannot be executed
  127  the program does not exist

Environment (an option takes precedence):
  READMOST_LOCK     the name of a lock, as --lock
  READMOST_PREFER   reader, writer or phase-fair, as --prefer
  READMOST_STATS    1 for a table on stderr, or a file, as --stats
  READMOST_STATS_BACKTRACE
                    1, as --backtrace
  READMOST_PROFILE  1: 'readmost top --profile' can look at the program
  READMOST_LOCK_CHECK
                    1: the library reports misuse of locks; abort: and ends the program
  READMOST_LIBRARY  the library to preload, instead of ../lib/libreadmost-pthread.so
                    beside this command; the libreadmost-lab.so in its folder has the
                    other locks)";

constexpr const char* compare =
    R"(Compare a program's speed under several locks.

Runs PROGRAM several times under each lock and prints how they compare. The runs are interleaved,
in alternating order, and each ratio is taken within one round, so that drift of the machine
cancels. Without --metric the wall time is compared; with it, a number that the program prints.
The program finds nothing on stdin, and its output is shown only when it fails.
)";

constexpr const char* compare_locks =
    R"(Locks:
  glibc            the program as it is, without the library
  prwlock          Readmost's lock
  pthread          glibc's lock, called through libreadmost-lab.so: the cost of preloading itself
)";

constexpr const char* compare_footer =
    R"(The first lock of --locks is the baseline; naming one twice (glibc,glibc) shows the noise. `all`
stands for every lock.

Examples:
  readmost compare -- ./bench
  readmost compare --runs 11 --metric '([0-9.]+) ops/s' -- ./bench --threads 2
  readmost compare --metric 'p99: ([0-9.]+) us' --lower --json result.json -- ./bench
  readmost compare --locks glibc,prwlock,bravo-ba,ba --timeout 60 -- ./bench
  readmost compare --locks all --runs 3 -- ./bench

Exit status:
  0    every run gave a number
  1    the program failed, hung or printed no number; earlier results are shown
  125  readmost failed: wrong option, no library, unwritable file
  126  the program cannot be executed
  127  the program does not exist
  130  interrupted by Ctrl-C (128 + the signal); earlier results are shown

Environment:
  READMOST_PREFER   reader, writer or phase-fair, passed on to the library
  READMOST_LIBRARY  the library to preload, instead of ../lib/libreadmost-pthread.so
                    beside this command; the libreadmost-lab.so in its folder has the
                    other locks)";

constexpr const char* top =
    R"(Show the activity of the locks of a running program.

Looks into a process that was started with 'readmost run --stats' and shows, each second, the ten
locks with most reads and writes: rates per second, and the 99th percentile of the time that
readers and writers waited in that second. The process is only read (process_vm_readv), never
stopped. Without --stats only the sums over all locks are available.
)";

constexpr const char* top_footer =
    R"(Examples:
  readmost top -p $(pidof server)
  readmost top -p 1234 -d 10 -n 6
  readmost top -p 1234 --json --once | jq '.hottest[0]'
  readmost top -p 1234 --openmetrics /var/lib/node_exporter/locks.prom
  readmost top -p 1234 --profile graph.svg --seconds 30

Ends with the process, after -n blocks, or when it is interrupted.

Exit status: 0, except
  125  readmost failed: no such process, library not preloaded, permission denied
  143  ended by a signal other than Ctrl-C (128 + the signal))";

constexpr const char* doctor =
    R"(Examine what Readmost can do on this machine.

Asks the kernel and the sandbox for what passive readers need, measures the cost of stores, fences,
cache line transfers, membarriers and locks, and explains what follows for programs. Takes about a
second, during which it keeps the CPUs busy; other load lengthens it and blurs the figures.

With --calibrate it describes this machine for 'readmost simulate' instead: topology, caches,
instructions, interrupts, sleeping and switching. Each figure in the file says how it was measured,
or why it could only be estimated.
)";

constexpr const char* doctor_footer =
    R"(Examples:
  readmost doctor
  readmost doctor --quick                        less precise figures
  READMOST_LIBRARY=./libreadmost-pthread.so readmost doctor
  readmost doctor --json | jq -r '.findings[].text'
  readmost doctor --calibrate here.json          this machine, to be simulated

Exit status:
  0  readers can be passive here; with --calibrate: the file is written
  1  an obstacle makes Readmost useless here; the page names it and the remedy
  2  wrong option, or the machine could not be examined

Environment:
  READMOST_LIBRARY  the library to examine, instead of ../lib/libreadmost-pthread.so
                    beside this command)";

constexpr const char* holders =
    R"(Show who holds and who waits for the locks of a program, and name deadlocks.

For each lock of Readmost that is held or waited for: the threads that hold it (passively, actively
or exclusively) and those that wait, how long, and where they are. Serves pthread_rwlock_t under
`run`, the C++ classes and the C API. The process is neither stopped nor changed.

A lock counts its active readers, and a lock of a class has no room for its writer: who they are is
not always known. Under READMOST_LOCK_CHECK=1 it is, and also since when each lock is held and where
it was taken.
)";

constexpr const char* holders_footer =
    R"(Examples:
  readmost holders -p $(pidof server)
  readmost holders --core core.1234
  readmost holders --core core.1234 ./server     a program that lies elsewhere now
  readmost holders -p 1234 --json - | jq -r '.deadlocks[].text'

Exit status:
  0    no deadlock is known
  1    threads wait for each other in a circle
  125  readmost failed: wrong option, no such process, no permission, no core file)";

constexpr const char* attach =
    R"(Put Readmost's locks under a systemd service, or take them away.

Writes readmost.conf into the folder of additions to UNIT, which sets LD_PRELOAD for the service;
libraries that the unit preloads already are kept, behind Readmost's. Nothing is restarted: the
command prints what to run.
)";

constexpr const char* attach_footer =
    R"(Examples:
  sudo readmost attach nginx
  sudo readmost attach --stats=/var/log/locks.json --prefer writer server@1
  readmost attach --user syncthing
  sudo readmost attach --remove nginx

Exit status: 0, except
  125  readmost failed: no such unit, unwritable folder, a library that the service cannot see)";

}  // namespace readmost::command::help
