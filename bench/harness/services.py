# bench/harness/services.py -- private servers on free ports of the loopback,
# below one temporary folder; each is stopped by its own folder or process id.
import glob
import os
import pwd
import shutil
import socket
import subprocess
import time


class Missing(Exception):
    """Something that has to be installed first; the text says how."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def find_programs() -> str | None:
    """The newest PostgreSQL server's folder; Debian keeps it off the PATH."""
    folders = glob.glob("/usr/lib/postgresql/*/bin")
    if folders:
        return max(folders, key=lambda x: int(x.split("/")[-2]))
    initdb = shutil.which("initdb")
    return initdb and os.path.dirname(os.path.realpath(initdb))


def _unprivileged() -> dict:
    """PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    user = pwd.getpwnam("postgres")
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


class PostgresServer:
    """A cluster with fsync and synchronous_commit on, as they are by
    default."""

    def __init__(self, folder: str):
        self._programs = find_programs()
        if self._programs is None:
            raise Missing("PostgreSQL: apt-get install postgresql")
        self._identity = _unprivileged()
        self._data = os.path.join(folder, "pg")
        self.port = free_port()
        self.superuser = "bench"
        os.mkdir(self._data, 0o700)
        if self._identity:
            os.chmod(folder, 0o755)
            os.chown(self._data, self._identity["user"],
                     self._identity["group"])
        self._run("initdb", "-D", self._data, "-U", self.superuser, "-A",
                  "trust", "-E", "UTF8", "--locale", "C.UTF-8")
        with open(f"{self._data}/postgresql.conf", "a") as file:
            file.write(f"port = {self.port}\n"
                       "listen_addresses = '127.0.0.1'\n"
                       "unix_socket_directories = ''\n"
                       "shared_buffers = 512MB\n"
                       "max_wal_size = 4GB\n")
        self._run("pg_ctl", "-D", self._data, "-l", f"{self._data}/server.log",
                  "-w", "start")
        with open(f"{self._data}/postmaster.pid") as file:
            self.pid = int(file.readline())
        self._numbers = 0

    def _run(self, program: str, *arguments: str):
        done = subprocess.run([f"{self._programs}/{program}", *arguments],
                              stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, cwd="/",
                              **self._identity)
        if done.returncode != 0:
            raise RuntimeError(f"{program}: {done.stderr}")

    def url(self, database: str) -> str:
        return f"postgres://{self.superuser}@127.0.0.1:{self.port}/{database}"

    def psql(self, database: str = "postgres") -> "Psql":
        return Psql(f"{self._programs}/psql", self.url(database))

    def create_database(self) -> str:
        """A fresh one; returns its name."""
        self._numbers += 1
        name = f"bench_{self._numbers}"
        with self.psql() as db:
            db.run(f"CREATE DATABASE {name} TEMPLATE template0")
        return name

    def drop_database(self, name: str):
        with self.psql() as db:
            db.run(f"DROP DATABASE {name} WITH (FORCE)")

    def close(self):
        self._run("pg_ctl", "-D", self._data, "-w", "-m", "immediate", "stop")


class Psql:
    """One open psql, so that a question costs no process."""

    _MARK = "--answered--"

    def __init__(self, program: str, url: str):
        self._process = subprocess.Popen(
            [program, "-X", "-q", "-A", "-t", "-F", "\t", "-v",
             "ON_ERROR_STOP=1", url],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, bufsize=1)

    def run(self, statement: str) -> list[list[str]]:
        """The rows as texts."""
        self._process.stdin.write(f"{statement};\n\\echo {self._MARK}\n")
        self._process.stdin.flush()
        rows = []
        for line in self._process.stdout:
            line = line.rstrip("\n")
            if line == self._MARK:
                return rows
            rows.append(line.split("\t"))
        raise RuntimeError(f"{statement}: {self._process.stderr.read()}")

    def is_true(self, condition: str) -> bool:
        return self.run(f"SELECT {condition}") == [["t"]]

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._process.stderr.close()

    def __enter__(self) -> "Psql":
        return self

    def __exit__(self, *_):
        self.close()


class RedisServer:
    """`mode` is `default`, or `aof`: each write is synced before its answer."""

    def __init__(self, folder: str, mode: str):
        if shutil.which("redis-server") is None:
            raise Missing("Redis: apt-get install redis-server")
        self.mode = mode
        self.port = free_port()
        data = os.path.join(folder, f"redis-{mode}")
        os.mkdir(data)
        command = ["redis-server", "--port", str(self.port), "--bind",
                   "127.0.0.1", "--dir", data, "--logfile", f"{data}/log"]
        if mode == "aof":
            command += ["--appendonly", "yes", "--appendfsync", "always"]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self._wait_until_up()

    def _wait_until_up(self):
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("redis-server does not start")

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def close(self):
        self._process.terminate()
        self._process.wait()
