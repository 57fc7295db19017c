# bench/harness/machine.py -- what the figures were taken on.
import os
import platform
import re
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from services import find_programs


def _first_line(command: list[str]) -> str | None:
    try:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=20)
    except OSError:
        return None
    return done.stdout.strip().splitlines()[0] if done.stdout.strip() else None


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _memory_gb() -> float:
    kb = re.search(r"MemTotal:\s+(\d+)",
                   Path("/proc/meminfo").read_text()).group(1)
    return round(int(kb) / 1024 ** 2, 1)


def _distribution() -> str:
    names = platform.freedesktop_os_release()
    return names.get("PRETTY_NAME", names.get("NAME", "?"))


def fdatasync_us(folder: str, times: int = 300) -> float:
    """What one durable write of a page costs here; the median."""
    page = os.urandom(8192)
    waits = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, len(page) * times)
        os.fsync(file.fileno())
        for i in range(times):
            start = time.perf_counter()
            os.pwrite(file.fileno(), page, i * len(page))
            os.fdatasync(file.fileno())
            waits.append(time.perf_counter() - start)
    return round(statistics.median(waits) * 1e6, 1)


def _redis() -> str | None:
    line = shutil.which("redis-server") and _first_line(
        ["redis-server", "--version"])
    found = line and re.search(r"v=(\S+)", line)
    return found and f"Redis {found.group(1)}"


def describe(folder: str, node: str) -> dict:
    """`folder` is on the disk that the databases use; `node` is Node.js."""
    programs = find_programs()
    return {
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": _memory_gb(),
        "system": _distribution(),
        "kernel": platform.release(),
        "fdatasync_us": fdatasync_us(folder),
        "postgresql": programs and _first_line(
            [f"{programs}/postgres", "--version"]),
        "redis": _redis(),
        "node": _first_line([node, "--version"]),
        "sqlite": sqlite3.sqlite_version,
        "compiler": _first_line(["c++", "--version"]),
        "load": os.getloadavg()[0],
    }


def busy_percent(seconds: float = 1.0) -> float:
    """How much of one core the machine uses, in percent."""
    def used() -> float:
        fields = Path("/proc/stat").read_text().splitlines()[0].split()[1:]
        user, nice, system, _, _, irq, soft = map(int, fields[:7])
        return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")
    before = used()
    time.sleep(seconds)
    return round((used() - before) / seconds * 100, 1)


def wait_until_quiet(longest: float):
    """Until nobody uses more than 15 % of a core, or for `longest` seconds."""
    deadline = time.monotonic() + longest
    while busy_percent(0.5) > 15 and time.monotonic() < deadline:
        pass
