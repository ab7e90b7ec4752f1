# SPDX-License-Identifier: Apache-2.0
"""Readmost's locks in gdb: pretty-printers, and the command 'readmost holders'.

gdb loads this file with libreadmost.so and libreadmost-pthread.so where they are installed; otherwise:
    (gdb) source /usr/share/readmost/readmost-gdb.py
It needs no debugging information of the library, and serves processes and core files.
"""

import re
import struct
import time

import gdb
import gdb.types

MAGIC = b"readmost locks 1"
# The members of readmost::detail::inspection (src/lock/lock_inspection.hpp) behind the magic words, and
# the names of its figures, in their order.
MEMBERS = ("self", "version", "version_end", "domains", "unregistered", "checked", "statistics", "core_offset")
FIGURES = ("size", "max_domains", "domain_size", "domain_index", "domain_grace_periods", "domain_waits_for",
           "domain_waits_since", "block_entries", "entry_size", "entry_records", "block_next", "chunk_capacity",
           "chunk_used", "chunk_records", "record_size", "held", "home_slots", "nested", "nested_held",
           "nested_slots", "noted", "noted_holds", "unnoted", "thread", "section", "sleeps_for", "sleeps_since",
           "held_locks_size", "lock_table_size")

# Bits of rwlock::state.
BIASED = 1 | 1 << 11 | 1 << 14
WRITING, DRAINING, CLAIMING, UNNOTED = 1 << 1, 1 << 2, 1 << 8, 1 << 13
READERS_SHIFT = 40
# Tags of slots and notes.
MOVED, COUNTED, HELD_AGAIN = 1, 2, 1
WANTS = {1: "to read", 2: "to write", 3: "to upgrade"}
DEADLINE = 4
ONE_GRACE_PERIOD = 8
SECTION_NESTING = 0xFFFFFFFF


def memory(address, size):
    return bytes(gdb.selected_inferior().read_memory(address, size))


def word(address):
    return struct.unpack("=Q", memory(address, 8))[0]


def integer(address):
    return struct.unpack("=i", memory(address, 4))[0]


def is_core():
    connection = getattr(gdb.selected_inferior(), "connection", None)
    return connection is not None and connection.type == "core"


def thread_text(thread):
    for each in gdb.selected_inferior().threads():
        if each.ptid[1] == thread:
            name = f" ({each.name})" if each.name and not is_core() else ""
            return f"thread {thread}{name}"
    return f"thread {thread}"


def since_text(since):
    if is_core():
        return f", since {since / 1e9:.6f} s after the system's start"
    return f", for {max(time.clock_gettime_ns(time.CLOCK_MONOTONIC) - since, 0) / 1e9:.3f} s"


class Lock:
    """What is known of one lock, by the address of the core's lock."""

    def __init__(self):
        self.holders = []  # (thread, how)
        self.waiters = []  # (thread, kind, since, has a deadline)
        self.unknown_readers = 0
        self.unknown_writer = False
        self.is_biased = False


class Library:
    """One copy of the library in the process, by its inspection object."""

    def __init__(self, address):
        values = struct.unpack(f"=8Q{len(FIGURES)}I", memory(address + len(MAGIC), 64 + 4 * len(FIGURES)))
        self.__dict__.update(zip(MEMBERS, values))
        self.__dict__.update(zip(FIGURES, values[len(MEMBERS):]))
        self.core_offset = word(self.core_offset)

    def records(self, domain):
        """The addresses of the records that belong to threads."""
        block = word(self.domains + domain * self.domain_size + self.domain_index)
        while block:
            for number in range(self.block_entries):
                chunk = word(block + number * self.entry_size + self.entry_records)
                if not chunk:
                    return
                used = word(chunk + self.chunk_used)
                for place in range(self.chunk_capacity):
                    if used >> place & 1:
                        yield chunk + self.chunk_records + place * self.record_size
            block = word(block + self.block_next)

    def locks(self):
        locks = {}
        owners = {}
        counted = []
        for domain in range(self.max_domains):
            for record in self.records(domain):
                self.read_record(record, locks, owners, counted)
        for address, lock in locks.items():
            self.settle(address, lock, owners, [thread for held, thread in counted if held == address])
        return locks

    def lock_at(self, address):
        """The same of one lock, also of one that no record names."""
        locks = self.locks()
        if address in locks:
            return locks[address]
        lock = Lock()
        owners = {record: integer(record + self.thread) for record in self.records(0)}
        self.settle(address, lock, owners, [])
        return lock

    def read_record(self, record, locks, owners, counted):
        thread = integer(record + self.thread)
        owners[record] = thread
        slots = struct.unpack(f"={self.home_slots}Q", memory(record + self.held, 8 * self.home_slots))
        nested = min(integer(record + self.nested), self.nested_slots)
        slots += struct.unpack(f"={nested}Q", memory(record + self.nested_held, 8 * nested)) if nested else ()
        for slot in slots:
            if slot and not slot & (MOVED | COUNTED):
                locks.setdefault(slot, Lock()).holders.append((thread, "passively"))
            elif slot & COUNTED:
                counted.append((slot & ~COUNTED, thread))
        for note in struct.unpack(f"={self.noted_holds}Q", memory(record + self.noted, 8 * self.noted_holds)):
            if note & ~HELD_AGAIN:
                locks.setdefault(note & ~HELD_AGAIN, Lock()).holders.append((thread, "actively"))
        sleeps = word(record + self.sleeps_for)
        if sleeps:
            locks.setdefault(sleeps & ~7, Lock()).waiters.append(
                (thread, sleeps & 3, word(record + self.sleeps_since), bool(sleeps & DEADLINE)))

    def settle(self, address, lock, owners, counted):
        """Compares what records say with the state of the lock."""
        state = word(address)
        lock.is_biased = bool(state & BIASED)
        readers = state >> READERS_SHIFT
        passive = state & (BIASED | DRAINING | CLAIMING)
        lock.holders = [(thread, how) for thread, how in lock.holders
                        if (how == "passively" and passive) or (how == "actively" and readers)]
        if state & UNNOTED:
            lock.holders += [(thread, "actively") for thread in counted]
        if state & WRITING:
            owner = word(address - self.core_offset) if self.core_offset else 0
            thread = owners.get(word(owner)) if owner else None
            if thread:
                lock.holders.append((thread, "exclusively"))
            else:
                lock.unknown_writer = True
        known = sum(how == "actively" for _, how in lock.holders)
        lock.unknown_readers = max(readers - known, 0)

    def open_sections(self, domain):
        return [integer(record + self.thread) for record in self.records(domain)
                if word(record + self.section) & SECTION_NESTING]


def libraries():
    """Looks for the magic words in the .data sections of the program and its libraries."""
    found = []
    for line in gdb.execute("info files", to_string=True).splitlines():
        section = re.match(r"\s*(0x[0-9a-f]+) - (0x[0-9a-f]+) is \.data($| in )", line)
        if not section:
            continue
        start, end = int(section[1], 16), int(section[2], 16)
        while start < end:
            try:
                place = gdb.selected_inferior().search_memory(start, end - start, MAGIC)
                if place is None:
                    break
                if word(place + len(MAGIC)) == place and place not in found:
                    found.append(place)
            except gdb.MemoryError:
                break
            start = place + len(MAGIC)
    return [Library(address) for address in found]


def library_of(is_pthread):
    for each in libraries():
        if bool(each.core_offset) == is_pthread:
            return each
    return None


# --- In words ------------------------------------------------------------------------------------------


def lines_of(lock):
    for thread, how in lock.holders:
        yield f"held {how} by {thread_text(thread)}"
    if lock.unknown_writer:
        yield "held exclusively, not known by whom (READMOST_LOCK_CHECK=1 tells)"
    if lock.unknown_readers:
        more = "more " if lock.holders else ""
        some = "reader" if lock.unknown_readers == 1 else "readers"
        yield f"held actively by {lock.unknown_readers} {more}{some}, not known who (READMOST_LOCK_CHECK=1 tells)"
    for thread, kind, since, has_deadline in lock.waiters:
        until = ", until a deadline" if has_deadline else ""
        yield f"waited for by {thread_text(thread)}, {WANTS.get(kind, '?')}{since_text(since)}{until}"


def in_words(library, address):
    if library is None:
        return "not used yet"
    lock = library.lock_at(address)
    words = list(lines_of(lock)) or ["free"]
    return "; ".join((["biased"] if lock.is_biased else []) + words)


def keeps_out(lock, waiter):
    """The threads that the waiter waits for: (thread, how it keeps it out)."""
    thread, kind, _, _ = waiter
    wants = WANTS.get(kind)
    holders = [(other, f"held {how} by {thread_text(other)}") for other, how in lock.holders
               if (wants != "to read" or how == "exclusively") and not (wants == "to upgrade" and other == thread)]
    if wants != "to read" or holders or lock.unknown_writer:
        return holders
    return [(other, f"behind {thread_text(other)}") for other, its, _, deadline in lock.waiters
            if WANTS.get(its) != "to read" and other != thread and not deadline]


def deadlocks_in(locks):
    edges = {}
    for address, lock in locks.items():
        for waiter in lock.waiters:
            if not waiter[3]:
                for other, how in keeps_out(lock, waiter):
                    text = f"waits {WANTS.get(waiter[1], '?')} for lock {address:#x}, "
                    text += "which it holds itself" if other == waiter[0] else how
                    edges.setdefault(waiter[0], []).append((other, text))
    done = set()
    found = []

    def follow(path, texts):
        for other, text in edges.get(path[-1], []):
            if other in path:
                begin = path.index(other)
                found.append(thread_text(other) + " " + ", which ".join((texts + [text])[begin:]))
            elif other not in done:
                follow(path + [other], texts + [text])
        done.add(path[-1])

    for thread in edges:
        if thread not in done:
            follow([thread], [])
    return found


# --- Printers and the command ------------------------------------------------------------------------------


class LockPrinter:
    def __init__(self, value, library, offset=0):
        self.value = value
        self.library = library
        self.offset = offset

    def to_string(self):
        try:
            if self.value.address is None:
                return "a lock that is not in memory"
            return in_words(self.library, int(self.value.address) + self.offset)
        except gdb.MemoryError as problem:
            return f"a lock that cannot be read: {problem}"


class DomainPrinter:
    def __init__(self, value):
        self.number = int(value["number_"])

    def to_string(self):
        try:
            library = library_of(False) or library_of(True)
            if library is None:
                return f"domain {self.number}, not used yet"
            inside = library.open_sections(self.number)
            domain = library.domains + self.number * library.domain_size
            over = word(domain + library.domain_grace_periods) // ONE_GRACE_PERIOD
            waits_for = integer(domain + library.domain_waits_for)
            words = [f"domain {self.number}", f"{over} grace period{' is' if over == 1 else 's are'} over"]
            words.append("inside a read section: " + ", ".join(map(thread_text, inside)) if inside
                         else "nobody is inside a read section")
            if waits_for:
                since = since_text(word(domain + library.domain_waits_since))
                words.append(f"a grace period waits for {thread_text(waits_for)}{since}")
            return "; ".join(words)
        except gdb.MemoryError as problem:
            return f"domain {self.number}, which cannot be read: {problem}"


CLASSES = re.compile(r"^(readmost::(shared_mutex|shared_timed_mutex|domain_shared_mutex|detail::rwlock"
                     r"|detail::basic_shared_(timed_)?mutex<.*>)|readmost_rwlock_t)$")
DOMAINS = re.compile(r"^readmost::(rcu_domain|separate_rcu_domain|detail::process_domain)$")


def printer_for(value):
    if value.type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        value = value.referenced_value()
    names = [value.type.name, gdb.types.get_basic_type(value.type).name]
    for name in names:
        if name is None:
            continue
        if CLASSES.match(name):
            return LockPrinter(value, library_of(False) or library_of(True))
        if DOMAINS.match(name):
            return DomainPrinter(value)
        if name == "pthread_rwlock_t":
            library = library_of(True)
            # glibc serves locks that processes share.
            if library is not None and int(value["__data"]["__shared"]) == 0:
                return LockPrinter(value, library, library.core_offset)
    return None


printer_for.name = "readmost"
printer_for.enabled = True


class Readmost(gdb.Command):
    """Commands for Readmost's locks."""

    def __init__(self):
        super().__init__("readmost", gdb.COMMAND_DATA, prefix=True)


class Holders(gdb.Command):
    """Show who holds and who waits for the locks of this process, and name deadlocks.
The command of the same name, outside of gdb, knows more where READMOST_LOCK_CHECK or READMOST_STATS is set."""

    def __init__(self):
        super().__init__("readmost holders", gdb.COMMAND_DATA)

    def invoke(self, argument, from_tty):
        copies = libraries()
        if not copies:
            raise gdb.GdbError("Readmost's locks are not in this process, or it has not started; start the program"
                               " with 'readmost run', or look at one that uses readmost::shared_mutex")
        for library in copies:
            locks = library.locks()
            for text in deadlocks_in({address - library.core_offset: lock for address, lock in locks.items()}):
                print(f"deadlock: {text}")
            for address, lock in sorted(locks.items()):
                lines = list(lines_of(lock))
                if not lines:
                    continue
                place = gdb.execute(f"info symbol {address - library.core_offset:#x}", to_string=True).strip()
                place = "" if place.startswith("No symbol") else f" {place}"
                kind = "pthread_rwlock_t" if library.core_offset else "lock of a class"
                print(f"{address - library.core_offset:#x}{place}, {kind}{', biased' if lock.is_biased else ''}")
                for line in lines:
                    print(f"  {line}")


# Both libraries may bring this file.
if not any(getattr(each, "name", None) == "readmost" for each in gdb.pretty_printers):
    gdb.pretty_printers.append(printer_for)
    Readmost()
    Holders()
