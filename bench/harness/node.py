# bench/harness/node.py -- a node under measurement, and what it costs.
import http.client
import json
import mmap
import os
import re
import signal
import struct
import subprocess
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("REEVE_BENCH_BUILD", ROOT / "build/release"))
NODE = BUILD / "reeve-bench-node"
CLIENT = BUILD / "reeve-bench-client"


class Samples:
    """The file in which a node counts its runs (bench/node/samples.hpp)."""

    _HEAD = struct.Struct("<QqQ")

    def __init__(self, path: str, waits: int = 0):
        self.path = path
        with open(path, "wb") as file:
            file.truncate(self._HEAD.size + 8 * waits)
        self._file = open(path, "r+b")
        self._map = mmap.mmap(self._file.fileno(), 0)

    def _read(self) -> tuple[int, int, int]:
        return self._HEAD.unpack_from(self._map)

    @property
    def started(self) -> int:
        return self._read()[0]

    @property
    def first_ns(self) -> int:
        return self._read()[1]

    def waits_ms(self) -> list[float]:
        count = min(self._read()[2], (len(self._map) - self._HEAD.size) // 8)
        return [x / 1e6 for x in struct.unpack_from(
            f"<{count}q", self._map, self._HEAD.size)]

    def wait_for(self, count: int, longest: float) -> bool:
        """Until so many runs began; false when they did not in time."""
        deadline = time.monotonic() + longest
        while self.started < count:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.001)
        return True

    def close(self):
        self._map.close()
        self._file.close()


class BenchNode:
    """A running `reeve-bench-node serve` with default settings."""

    def __init__(self, url: str, folder: str, name: str = "bench-1",
                 samples: Samples | None = None, **options):
        settings = {"http.port": 0, "database.url": url, "node.name": name,
                    **{key.replace("__", ".").replace("_", "-"): value
                       for key, value in options.items()}}
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("REEVE_", "PG"))}
        if samples is not None:
            environment["BENCH_SAMPLES"] = samples.path
        self._log = open(os.path.join(folder, f"{name}.log"), "ab")
        self.started_ns = time.monotonic_ns()
        self._process = subprocess.Popen(
            [NODE, "serve", *(f"--{k}={v}" for k, v in settings.items())],
            stdout=subprocess.PIPE, stderr=self._log,
            stdin=subprocess.DEVNULL, env=environment)
        self.pid = self._process.pid
        self.port = 0

    def wait_until_listening(self) -> "BenchNode":
        for line in self._process.stdout:
            found = re.match(rb"listening on http://.*:(\d+)", line)
            if found:
                self.port = int(found.group(1))
                return self
        last = Path(self._log.name).read_text().splitlines()[-1:]
        raise RuntimeError(f"the node ended: {''.join(last)}")

    def post(self, path: str, body: dict | None = None) -> dict:
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=60)
        text = json.dumps(body) if body is not None else None
        fields = {"Content-Type": "application/json"} if text else {}
        connection.request("POST", path, text, fields)
        answer = connection.getresponse()
        result = answer.read()
        connection.close()
        if answer.status >= 300:
            raise RuntimeError(f"POST {path}: {answer.status} {result!r}")
        return json.loads(result)

    def pause(self):
        self.post("/api/types/BENCH/pause")

    def resume(self):
        self.post("/api/types/BENCH/resume")

    def client(self, measure: str, **options) -> dict:
        """What the client says about this node."""
        done = subprocess.run(
            [CLIENT, measure, f"--port={self.port}",
             *(f"--{key}={value}" for key, value in options.items())],
            capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"client {measure}: {done.stderr}")
        return json.loads(done.stdout)

    # -- costs --------------------------------------------------------------

    def cpu_s(self) -> float:
        """User and system time of all its threads so far."""
        # The kernel's id of another process's CPU clock.
        return time.clock_gettime(~self.pid << 3 | 2)

    def _status_mb(self, field: str) -> float:
        text = Path(f"/proc/{self.pid}/status").read_text()
        return round(int(re.search(rf"{field}:\s+(\d+)", text).group(1))
                     / 1024, 1)

    def rss_mb(self) -> float:
        return self._status_mb("VmRSS")

    def peak_mb(self) -> float:
        return self._status_mb("VmHWM")

    # -- its end ------------------------------------------------------------

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def stop(self):
        self._end(signal.SIGTERM)

    def kill(self):
        self._end(signal.SIGKILL)

    def _end(self, number: int):
        if self.running:
            self._process.send_signal(number)
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._log.close()


def tree_cpu_s(pid: int) -> float:
    """CPU time of a process and its children, living or gone."""
    ticks = os.sysconf("SC_CLK_TCK")

    def times(name) -> tuple[int, int]:
        text = Path(f"/proc/{name}/stat").read_text()
        fields = text[text.rindex(")") + 2:].split()
        return int(fields[1]), sum(map(int, fields[11:15]))

    total = times(pid)[1]
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            parent, used = times(entry)
        except OSError:
            continue
        if parent == pid:
            total += used
    return total / ticks
