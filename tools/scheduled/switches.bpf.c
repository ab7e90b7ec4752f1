// SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0
// The kernel's half of the scheduler's help (FCP 4.1, ScheduleOut): notes, at each context switch
// of one process, which threads stop running and what they hold for reading.
//
// A thread's record is found through its area of restartable sequences, which the C library
// registers with the kernel once for each thread, at a constant distance from the library's
// thread-local pointer to the record. It is read when the thread is switched out, since its memory
// is mapped then; the note's number is kept for the time when it is switched in again.
//
// Order. A note says `switched out` only between the two switches: it is written before another
// thread runs on the CPU (SW1), and taken back before the thread itself runs (SW2). Both by an
// exchange that returns a value, which is a full fence: on x86-64 a switch between threads of one
// process has none that the thread's first instructions would be behind. Rounds rely on both
// (docs/memory-ordering.md).
//
// A note is never left at `switched out` while its thread runs:
//   A thread that can be noted is in `threads` before it is, and stays there until it exits;
//   lookups of what is in a hash table never fail. A thread that exits is not noted any more: its
//   memory may belong to another thread already. A thread that takes a record of another begins a
//   new period, so the other's notes do not count.
#include <linux/bpf.h>
// What follows needs it.
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "threads/switch_notes_layout.h"

#define PF_EXITING 0x00000004

// What is used of the kernel's structures; libbpf finds the members in the running kernel.
struct task_struct {
  unsigned flags;
  int pid;
  int tgid;
  void* rseq;
} __attribute__((preserve_access_index));

// Since Linux 6.19.
struct rseq_data___since_6_19 {
  void* usrptr;
} __attribute__((preserve_access_index));
struct task_struct___since_6_19 {
  struct rseq_data___since_6_19 rseq;
} __attribute__((preserve_access_index));

// The process whose switches are noted.
const volatile int process;

struct readmost_switch_notes notes;

struct whose_note {
  __u32 number;
  __u32 period;
};

// By thread id.
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, READMOST_SWITCH_NOTES);
  __type(key, __u32);
  __type(value, struct whose_note);
} threads SEC(".maps");

static __always_inline unsigned long rseq_of(struct task_struct* task) {
  struct task_struct___since_6_19* newer = (void*)task;
  // Copied, because the verifier allows no arithmetic with a pointer that it knows.
  unsigned long area = 0;
  if (bpf_core_field_exists(newer->rseq.usrptr)) {
    bpf_core_read(&area, sizeof area, &newer->rseq.usrptr);
  } else {
    bpf_core_read(&area, sizeof area, &task->rseq);
  }
  return area;
}

static __always_inline int read_word(__u64* word, unsigned long from) {
  return bpf_probe_read_user(word, sizeof *word, (const void*)from);
}

// Slots with a tag in the low bits are not passive holds.
static __always_inline __u64 passive_hold(unsigned long record) {
  __u64 held[READMOST_SWITCH_HELD];
  if (bpf_probe_read_user(held, sizeof held, (const void*)(record + notes.header.held)) != 0) {
    return 0;
  }
  for (int i = 0; i < READMOST_SWITCH_HELD; ++i) {
    if (held[i] != 0 && (held[i] & 3) == 0) return held[i];
  }
  __u32 nested = 0;
  if (bpf_probe_read_user(&nested, sizeof nested, (const void*)(record + notes.header.nested)) !=
          0 ||
      nested == 0) {
    return 0;
  }
  __u64 more[READMOST_SWITCH_NESTED];
  if (bpf_probe_read_user(more, sizeof more, (const void*)(record + notes.header.nested_held)) !=
      0) {
    return 0;
  }
  for (__u32 i = 0; i < READMOST_SWITCH_NESTED; ++i) {
    if (i < nested && more[i] != 0 && (more[i] & 3) == 0) return more[i];
  }
  return 0;
}

static __always_inline void switched_out(struct task_struct* task) {
  __u32 thread = task->pid;
  if (task->flags & PF_EXITING) {
    bpf_map_delete_elem(&threads, &thread);
    return;
  }
  const unsigned long area = rseq_of(task);
  const __s64 records = *(volatile __s64*)&notes.header.records;
  if (area == 0 || records == 0) return;
  __u64 record, key;
  if (read_word(&record, area + records) != 0) return;
  if (read_word(&key, record + notes.header.note) != 0) return;
  const struct whose_note whose = {.number = (__u32)key, .period = key >> 32};
  if (whose.number == 0 || whose.number >= READMOST_SWITCH_NOTES) return;

  struct whose_note* known = bpf_map_lookup_elem(&threads, &thread);
  if (known == NULL) {
    if (bpf_map_update_elem(&threads, &thread, &whose, BPF_ANY) != 0) return;
  } else if (known->number != whose.number || known->period != whose.period) {
    *known = whose;
  }

  struct readmost_switch_note* note = &notes.notes[whose.number & (READMOST_SWITCH_NOTES - 1)];
  ++note->switches;
  const __u64 lock = passive_hold(record);
  if (lock != 0) {
    __u64 seen = 0;
    read_word(&seen, record + notes.header.seen);
    ++note->holding;
    note->lock = lock;
    note->seen = seen;
  }
  __u64 section = 0;
  read_word(&section, record + notes.header.section);
  if ((__u32)section != 0) ++note->inside;
  __sync_lock_test_and_set(&note->state, (__u64)whose.period << 1 | 1);
}

static __always_inline void switched_in(struct task_struct* task) {
  __u32 thread = task->pid;
  struct whose_note* whose = bpf_map_lookup_elem(&threads, &thread);
  if (whose == NULL) return;
  struct readmost_switch_note* note = &notes.notes[whose->number & (READMOST_SWITCH_NOTES - 1)];
  __sync_lock_test_and_set(&note->state, (__u64)whose->period << 1);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, _Bool preempt, struct task_struct* prev, struct task_struct* next) {
  if (prev->tgid == process) switched_out(prev);
  if (next->tgid == process) switched_in(next);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";
