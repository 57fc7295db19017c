# tests/e2e/harness.py -- drives the real `reeve` program from tests.
#
# The binary is $REEVE_BIN, else build/debug/reeve. Tests run against both
# stores; REEVE_TEST_STORES=sqlite (or postgresql) picks one.
import atexit
import datetime
import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from urllib.parse import quote

from event_stream import Event, EventStream
from fake_analysis import FakeAnalysis
from postgres import Postgres, free_port
from process import Process, Timeout, remaining

__all__ = ["BIN", "ROOT", "FINAL", "Database", "Event", "EventStream",
           "FakeAnalysis", "Node", "NodeTest", "Postgres", "Process",
           "Response", "Timeout", "both_stores", "free_port", "quote",
           "read_article", "remaining", "run_reeve", "time_in", "time_of"]

ROOT = Path(__file__).resolve().parents[2]
BIN = os.environ.get("REEVE_BIN") or str(ROOT / "build/debug/reeve")
FINAL = frozenset({"COMPLETED", "FAILED", "CANCELLED"})

# As RFC 9110 has them; Python's table is older.
REASONS = {**http.client.responses, 413: "Content Too Large",
           414: "URI Too Long", 422: "Unprocessable Content"}

def clean_environment(extra: dict | None = None) -> dict:
    """This process's environment without settings of a node."""
    result = {name: value for name, value in os.environ.items()
              if not name.startswith(("REEVE_", "PG"))}
    return {**result, **(extra or {})}


def arguments(options: dict) -> list[str]:
    return [f"--{key}={value}" for key, value in options.items()]


def run_reeve(*args: str, environment: dict | None = None, cwd=None,
              timeout: float = 30) -> subprocess.CompletedProcess:
    """Runs `reeve` to its end."""
    return subprocess.run([BIN, *args], capture_output=True, text=True,
                          timeout=timeout, cwd=cwd,
                          env=clean_environment(environment))


def time_of(text: str) -> datetime.datetime:
    """A time of the API; only the one form is accepted."""
    return datetime.datetime.strptime(
        text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)


def time_in(seconds: float) -> str:
    """A time from now, as the API spells it."""
    now = datetime.datetime.now(datetime.timezone.utc)
    then = now + datetime.timedelta(seconds=seconds)
    return f"{then:%Y-%m-%dT%H:%M:%S}.{then.microsecond // 1000:03}Z"


def read_article(language: str) -> str:
    return (ROOT / f"tests/data/article-{language}.txt").read_text("utf-8")


class Response:
    """One HTTP answer."""

    def __init__(self, status: int, headers, body: bytes):
        self.status = status
        self.headers = headers
        self.body = body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:500]!r}"


class Database:
    """An empty database of a node's own, on either store."""

    def __init__(self, store: str, folder: str,
                 server: Postgres | None = None):
        self.store = store
        if store == "sqlite":
            self.path = os.path.join(folder, "reeve.db")
            self.url = "sqlite:" + self.path
        else:
            self.server = server or Postgres.shared()
            self.name = self.server.create_database()
            self.url = self.server.url(self.name)

    def sql(self, query: str) -> list[list[str]]:
        """The rows as texts, the same on both stores; NULL is empty."""
        if self.store != "sqlite":
            return self.server.sql(query, self.name)
        connection = sqlite3.connect(self.path, timeout=30)
        try:
            with connection:
                rows = connection.execute(query).fetchall()
        finally:
            connection.close()
        return [["" if x is None else str(x) for x in row] for row in rows]


class Node:
    """A running `reeve serve`. `start` again on the same database after
    `kill9` or `terminate`."""

    def __init__(self, store: str = "sqlite", options: dict | None = None,
                 environment: dict | None = None,
                 database: Database | None = None, start: bool = True):
        self.folder = tempfile.mkdtemp(prefix="reeve-node-")
        self.database = database or Database(store, self.folder)
        self.options = {"http.port": 0, "database.url": self.database.url,
                        "node.name": "node-1", **(options or {})}
        self.environment = environment or {}
        self.port = 0
        self._process: Process | None = None
        self._old_log = ""
        atexit.register(self.close)
        if start:
            try:
                self.start()
            except BaseException:
                self.close()
                raise

    # -- the process --------------------------------------------------------

    def launch(self, **options):
        """Starts the process and does not wait until it serves."""
        self.options.update(options)
        self._old_log = self.log
        self._process = Process(
            [BIN, "serve", *arguments(self.options)], cwd=self.folder,
            stdin=subprocess.DEVNULL,
            env=clean_environment(self.environment))

    def start(self, timeout: float = 60):
        self.launch()
        self.wait_until_listening(timeout)

    def wait_until_listening(self, timeout: float = 60):
        line = self._process.wait_for_line("listening on http://", timeout,
                                           "stdout")
        self.port = int(line.rstrip().rsplit(":", 1)[1])

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.running

    @property
    def log(self) -> str:
        """All log lines, also those of earlier starts."""
        now = self._process.output("stderr") if self._process else ""
        return self._old_log + now

    @property
    def stdout(self) -> str:
        return self._process.output("stdout")

    def wait_for_log(self, text: str, timeout: float = 30) -> str:
        return self._process.wait_for_line(text, timeout, "stderr")

    def signal(self, number: int):
        self._process.signal(number)

    def wait(self, timeout: float = 60) -> int:
        return self._process.wait(timeout)

    def kill9(self):
        self._process.kill()

    def terminate(self, timeout: float = 60) -> int:
        """SIGTERM; the exit code."""
        self.signal(signal.SIGTERM)
        return self.wait(timeout)

    def close(self):
        if self.running:
            self.kill9()
        shutil.rmtree(self.folder, ignore_errors=True)
        atexit.unregister(self.close)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- HTTP ---------------------------------------------------------------

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def connect(self, timeout: float = 15) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout)

    def connection(self, timeout: float = 30) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port,
                                          timeout=timeout)

    def request(self, method: str, path: str, body=None,
                headers: dict | None = None, timeout: float = 30,
                connection: http.client.HTTPConnection | None = None
                ) -> Response:
        """Lists and dicts are sent as JSON, bytes and texts as they are."""
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        if isinstance(body, str):
            body = body.encode("utf-8")
        if body is not None and "Content-Type" not in headers:
            headers["Content-Type"] = "application/json"
        client = connection or self.connection(timeout)
        try:
            client.request(method, path, body, headers)
            answer = client.getresponse()
            return Response(answer.status, answer.headers, answer.read())
        finally:
            if connection is None:
                client.close()

    def get(self, path: str, headers: dict | None = None) -> Response:
        return self.request("GET", path, headers=headers)

    def post(self, path: str, body=None,
             headers: dict | None = None) -> Response:
        return self.request("POST", path, body, headers)

    def sse(self, path: str, headers: dict | None = None,
            timeout: float = 30) -> EventStream:
        return EventStream(self.connection(timeout), path, headers or {},
                           timeout)

    # -- what tests often need ----------------------------------------------

    def add_job(self, target_id: str = "no-such-scrap", **fields) -> dict:
        """Posts a CARD_ANALYSIS job, by default one that soon is FAILED."""
        answer = self.post("/api/jobs", {"type": "CARD_ANALYSIS",
                                         "target_id": target_id, **fields})
        if answer.status not in (200, 202):
            raise AssertionError(f"the job was refused: {answer}")
        return answer.json

    def add_scrap(self, content: str, **fields) -> dict:
        """Posts a scrap; its `scrap_id` and `job_id`."""
        answer = self.post("/api/scraps", {"content": content, **fields})
        if answer.status != 200:
            raise AssertionError(f"the scrap was refused: {answer}")
        return answer.json

    def job(self, job_id: str) -> dict:
        answer = self.get("/api/jobs/" + job_id)
        if answer.status != 200:
            raise AssertionError(f"no job {job_id}: {answer}")
        return answer.json

    def attempts(self, job_id: str) -> list[dict]:
        return self.get(f"/api/jobs/{job_id}/attempts").json["attempts"]

    def wait_for_job(self, job_id: str, until=FINAL,
                     timeout: float = 30) -> dict:
        """Follows a job by long polls. `until` is a status, a set of them,
        or a function of the job."""
        if isinstance(until, str):
            until = {until}
        reached = until if callable(until) else (
            lambda job: job["status"] in until)
        deadline = time.monotonic() + timeout
        answer = self.get("/api/jobs/" + job_id)
        while True:
            if answer.status != 200:
                raise AssertionError(f"job {job_id}: {answer}")
            job, etag = answer.json, answer.headers["ETag"]
            if reached(job):
                return job
            if job["status"] in FINAL:
                raise AssertionError(f"too late, it ended: {job}")
            answer = None
            while answer is None or answer.status == 304:
                if time.monotonic() > deadline:
                    raise Timeout(f"the job is still {job}")
                answer = self.get(f"/api/jobs/{job_id}?wait=2",
                                  {"If-None-Match": etag})


class NodeTest(unittest.TestCase):
    """A test class with one node, `self.node`, shared by its tests."""

    store = "sqlite"
    options: dict = {}
    environment: dict = {}
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.node = Node(cls.store, cls.options, cls.environment)
        cls.addClassCleanup(cls.node.close)

    def start_node(self, options: dict | None = None, **kwargs) -> Node:
        """Another node on a database of its own, stopped with the test."""
        node = Node(self.store, {**self.options, **(options or {})}, **kwargs)
        self.addCleanup(node.close)
        return node

    def start_analysis(self, delay: float = 0.0) -> FakeAnalysis:
        fake = FakeAnalysis(delay)
        self.addCleanup(fake.close)
        return fake

    def assert_problem(self, answer: Response, status: int, *texts: str,
                       members: tuple = ()) -> dict:
        """Checks the shape of an error; `texts` must be in its detail, and
        it has these extension `members`."""
        self.assertEqual(answer.status, status, answer)
        self.assertEqual(answer.headers["Content-Type"],
                         "application/problem+json")
        problem = answer.json
        self.assertEqual(set(problem), {"type", "title", "status", "detail",
                                        *members})
        self.assertRegex(problem["type"], r"^urn:reeve:problem:[a-z_-]+$")
        self.assertEqual(problem["status"], status)
        self.assertEqual(problem["title"], REASONS[status])
        self.assertTrue(problem["detail"])
        for text in texts:
            self.assertIn(text, problem["detail"])
        return problem


def both_stores(cls):
    """Class decorator: the tests run once on each store. The class itself
    goes away in favour of NAME_sqlite and NAME_postgresql."""
    module = sys.modules[cls.__module__]
    stores = os.environ.get("REEVE_TEST_STORES", "sqlite,postgresql")
    for store in stores.split(","):
        name = f"{cls.__name__}_{store}"
        made = type(name, (cls,), {"store": store,
                                   "__module__": cls.__module__})
        setattr(module, name, made)
    return None
