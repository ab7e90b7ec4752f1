/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
/*
 * The pages in which the kernel notes, by the program tools/scheduled/switches.bpf.c, which threads
 * of a process are switched out, and what they held then. The loader makes the pages, the process
 * says where its records are, and reads the notes. In C without includes, as the kernel's half is
 * compiled for another machine.
 */
#ifndef READMOST_SWITCH_NOTES_LAYOUT_H
#define READMOST_SWITCH_NOTES_LAYOUT_H

/* Changes with the layout. */
#define READMOST_SWITCH_MAGIC 0x32686374697773ULL
/* The threads that can have a note at a time. A power of two. */
#define READMOST_SWITCH_NOTES 4096U
/* The number of the file with the pages, in the environment of the process. */
#define READMOST_SWITCH_VARIABLE "READMOST_SCHEDULER_NOTES"

struct readmost_switch_header {
  /* By the loader: who may use the pages. */
  unsigned long long magic;
  unsigned long long pid_namespace; /* the inode number of /proc/self/ns/pid */
  unsigned process;
  /* A robust futex, held by the process that keeps the kernel's half loaded. The kernel marks it
   * (FUTEX_OWNER_DIED) before it unloads that half, so no note is believed later. */
  unsigned holder;

  /* By the process. From the thread's area of restartable sequences (rseq) to the pointer to its
   * record; 0 until the process is ready. */
  long long records;
  /* Where these are in a record. */
  unsigned short note;
  unsigned short held; /* READMOST_SWITCH_HELD slots */
  unsigned short nested_held;
  unsigned short nested;
  unsigned short section;
  unsigned short seen;
  /* Of the program whose library uses the pages: a second copy of the library in it must not, since
   * the notes are those of the first copy's records. */
  unsigned long long program;
  unsigned long long reserved;
};

#define READMOST_SWITCH_HELD 8
#define READMOST_SWITCH_NESTED 4

/*
 * One thread's. A record's `note` has the number of its note in the lower half, 0 without one, and
 * in the upper half its period: each thread that takes the record begins a new one.
 */
struct readmost_switch_note {
  /* Twice the period of the thread that was switched last, plus 1 if it was switched out. */
  unsigned long long state;
  /* The thread's switches since it took the record: all, those with a passive hold, those inside a
   * read section of RCU. */
  unsigned long long switches;
  unsigned long long holding;
  unsigned long long inside;
  /* At the last of those with a passive hold: a lock, and the last version reported. */
  unsigned long long lock;
  unsigned long long seen;
  unsigned long long reserved[2];
};

struct readmost_switch_notes {
  struct readmost_switch_header header;
  /* The first is not used. */
  struct readmost_switch_note notes[READMOST_SWITCH_NOTES];
};

#endif
