# SPDX-License-Identifier: Apache-2.0
"""The properties of this machine that matter to locks."""

import ctypes
import os
import platform
import re
import subprocess
from pathlib import Path

MEMBARRIER = {"x86_64": 324, "aarch64": 283}  # the number of the system call
PRIVATE_EXPEDITED = 1 << 3


def facts():
    """In the format of results.schema.json, without those that cannot be determined."""
    topology = _topology()
    told = {
        "processor": _processor(),
        "cpus": len(os.sched_getaffinity(0)),
        "sockets": len({socket for socket, _ in topology}) or None,
        "cores": len(set(topology)) or None,
        "nodes": len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None,
        "memory_gib": _memory(),
        "virtual": "hypervisor" in _cpuinfo("flags").split(),
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "membarrier": _has_membarrier(),
    }
    return {name: value for name, value in told.items() if value is not None}


def is_same(one, other):
    """Whether figures of the two machines may be compared."""
    compared = ("processor", "cpus", "kernel", "architecture")
    return all(one.get(name) == other.get(name) for name in compared)


def sentence(machine):
    """The machine in one line."""
    parts = [machine["processor"], count(machine["cpus"], "CPU")]
    if machine.get("sockets", 1) > 1:
        parts.append(count(machine["sockets"], "socket"))
    if machine.get("nodes", 1) > 1:
        parts.append(count(machine["nodes"], "memory node"))
    if machine.get("memory_gib"):
        parts.append(f"{machine['memory_gib']:.0f} GiB")
    if machine.get("virtual"):
        parts.append("virtual machine")
    return ", ".join([*parts, machine["kernel"], machine["architecture"]])


def count(number, what):
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def commit_of(folder):
    """The commit of the sources there, with a + if they were changed since; None outside of git."""

    def git(*words):
        return _said(["git", "-C", str(folder), *words]).strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _said(command):
    return subprocess.run(
        command, env={**os.environ, "LC_ALL": "C"},
        capture_output=True, text=True, check=True, timeout=20,
    ).stdout


def _cpuinfo(name):
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return ""
    found = re.search(rf"^{re.escape(name)}\s*:\s*(.*)$", text, re.MULTILINE)
    return found[1].strip() if found else ""


def _processor():
    name = _cpuinfo("model name")
    if not name:
        try:  # only lscpu knows the names of ARM processors
            found = re.search(r"^Model name:\s*(.*)$", _said(["lscpu"]), re.MULTILINE)
            name = found[1].strip() if found else ""
        except (OSError, subprocess.SubprocessError):
            pass
    return re.sub(r"\s+", " ", name) or platform.machine()


def _topology():
    """(socket, core) of each CPU."""
    found = []
    for folder in Path("/sys/devices/system/cpu").glob("cpu[0-9]*/topology"):
        files = (folder / "physical_package_id", folder / "core_id")
        try:
            found.append(tuple(file.read_text().strip() for file in files))
        except OSError:
            pass
    return found


def _memory():
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1)
    except (OSError, ValueError):
        return None


def _has_membarrier():
    number = MEMBARRIER.get(platform.machine())
    if number is None:
        return False
    known = ctypes.CDLL(None, use_errno=True).syscall(number, 0, 0, 0)
    return known > 0 and bool(known & PRIVATE_EXPEDITED)
