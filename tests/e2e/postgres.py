# tests/e2e/postgres.py -- a private PostgreSQL server for one test process.
import atexit
import glob
import itertools
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from process import Process, Timeout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _find_programs() -> str:
    """The newest server's folder; Debian keeps it off the PATH."""
    folders = glob.glob("/usr/lib/postgresql/*/bin")
    if folders:
        return max(folders, key=lambda x: int(x.split("/")[-2]))
    initdb = shutil.which("initdb")
    if initdb is None:
        raise AssertionError("no PostgreSQL server here: install the package "
                             "postgresql, or set REEVE_TEST_STORES=sqlite")
    return os.path.dirname(os.path.realpath(initdb))


def _unprivileged() -> dict:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def children_of(pid: int) -> list[int]:
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(x) for x in file.read().split()]


class Postgres:
    """A cluster of its own: loopback only, trust authentication, and no fsync
    unless it is `durable`."""

    _shared = None

    @classmethod
    def shared(cls) -> "Postgres":
        """The one of this process, started on first use."""
        if cls._shared is None:
            cls._shared = cls()
        return cls._shared

    def __init__(self, durable: bool = False):
        self._durable = durable
        self._programs = _find_programs()
        self._identity = _unprivileged()
        self._folder = tempfile.mkdtemp(prefix="reeve-postgres-")
        self._numbers = itertools.count(1)
        self._process: Process | None = None
        self.port = free_port()
        if self._identity:
            os.chown(self._folder, self._identity["user"],
                     self._identity["group"])
        atexit.register(self.close)
        subprocess.run(
            [f"{self._programs}/initdb", "--pgdata", self._data,
             "--username=reeve", "--auth=trust", "--encoding=UTF8",
             "--locale=C.UTF-8", "--no-sync"],
            check=True, capture_output=True, cwd="/", **self._identity)
        self.start()

    @property
    def _data(self) -> str:
        return os.path.join(self._folder, "data")

    def url(self, database: str = "postgres") -> str:
        return f"postgresql://reeve@127.0.0.1:{self.port}/{database}"

    def start(self):
        settings = {
            "listen_addresses": "127.0.0.1", "port": self.port,
            "unix_socket_directories": "",
            "max_connections": 60, "shared_buffers": "16MB",
            "lc_messages": "C"}
        if not self._durable:
            # Safe against crashes of the server, though not of the machine.
            settings |= {"fsync": "off", "full_page_writes": "off"}
        command = [f"{self._programs}/postgres", "-D", self._data]
        for key, value in settings.items():
            command += ["-c", f"{key}={value}"]
        self._process = Process(command, death_signal=signal.SIGQUIT,
                                cwd="/", **self._identity)
        self._process.wait_for_line("ready to accept connections")

    def stop(self, immediate: bool = True):
        """An immediate stop is a crash: clients are cut off."""
        if self._process is not None:
            self._process.signal(signal.SIGQUIT if immediate
                                 else signal.SIGINT)
            self._process.wait()
            self._process = None

    def kill9(self):
        """All of its processes at once: none can write a last word."""
        server = self._process.pid
        pids = [server, *children_of(server)]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None
        # They hold the shared memory, without which none can start.
        deadline = time.monotonic() + 30
        while any(os.path.exists(f"/proc/{pid}") for pid in pids):
            if time.monotonic() > deadline:
                raise Timeout("killed processes remain")
            time.sleep(0.01)

    def restart(self, immediate: bool = True):
        self.stop(immediate)
        self.start()

    def close(self):
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self.close)

    def sql(self, query: str, database: str = "postgres") -> list[list[str]]:
        """The rows as texts; NULL is an empty one."""
        done = subprocess.run(
            [f"{self._programs}/psql", "-X", "-q", "-t", "-A", "-F", "\x1f",
             "-R", "\x1e", "-v", "ON_ERROR_STOP=1", "-c", query,
             self.url(database)],
            capture_output=True, text=True, timeout=60,
            env={**os.environ, "PGOPTIONS": "-c search_path=reeve,public"})
        if done.returncode != 0:
            raise AssertionError(f"{query}: {done.stderr}")
        text = done.stdout.removesuffix("\n")
        return [row.split("\x1f") for row in text.split("\x1e") if row]

    def create_database(self) -> str:
        """A fresh one; returns its name."""
        name = f"reeve_{next(self._numbers)}"
        self.sql(f"CREATE DATABASE {name} TEMPLATE template0")
        return name

    def terminate_backends(self, database: str) -> int:
        """Cuts every connection to `database`; how many there were."""
        rows = self.sql("SELECT pg_terminate_backend(pid) FROM "
                        "pg_stat_activity WHERE datname = '" + database + "'")
        return len(rows)
