# bench/harness/reeve.py -- measures a node as bench/peers/bench.mjs measures
# the peers: the same work, clocks and names of figures.
import contextlib
import math
import os
import time

from machine import wait_until_quiet
from node import BenchNode, Samples, tree_cpu_s
from services import PostgresServer
from stores import PostgresStore, SqliteStore


def percentiles(values: list[float]) -> dict:
    """Milliseconds, by the nearest rank."""
    if not values:
        return {"n": 0}
    xs = sorted(values)

    def at(p: float) -> float:
        return round(xs[math.ceil(p * len(xs)) - 1], 2)

    return {"n": len(xs), "p50_ms": at(0.5), "p95_ms": at(0.95),
            "p99_ms": at(0.99), "max_ms": xs[-1]}


class Reeve:
    """Makes the rows of one contestant: `reeve` (PostgreSQL) or
    `reeve-sqlite`. Every measure starts with an empty database."""

    def __init__(self, server: PostgresServer | None, folder: str,
                 version: str, quiet_s: float):
        """Waits up to `quiet_s` for a quiet machine before each measure."""
        self._server = server
        self._folder = folder
        self._version = version
        self._quiet_s = quiet_s
        self.peer = "reeve" if server else "reeve-sqlite"
        self._files = 0

    # -- parts --------------------------------------------------------------

    @contextlib.contextmanager
    def _store(self):
        store = (PostgresStore(self._server) if self._server
                 else SqliteStore(self._folder))
        try:
            yield store
        finally:
            store.close()

    @contextlib.contextmanager
    def _node(self, store, samples: Samples | None = None,
              name: str = "bench-1", **options):
        node = BenchNode(store.url, self._folder, name, samples, **options)
        try:
            yield node.wait_until_listening()
        finally:
            node.stop()

    @contextlib.contextmanager
    def _samples(self, waits: int = 0):
        self._files += 1
        samples = Samples(os.path.join(self._folder, f"samples-{self._files}"),
                          waits)
        try:
            yield samples
        finally:
            samples.close()
            os.unlink(samples.path)

    def _fill(self, store, jobs: int, history: int = 0):
        """Queues jobs of a paused type, by a node of its own; before that,
        what was done long ago."""
        with self._node(store, name="bench-filler") as node:
            node.pause()
            if history > 0:
                store.add_history(history)
            node.client("bulk", jobs=jobs)
        store.settle()

    def _row(self, measure: str, config: str = "default", **figures) -> dict:
        return {"peer": self.peer, "version": self._version,
                "measure": measure, "config": config, **figures}

    def _server_cpu(self, store) -> float:
        return tree_cpu_s(store.server_pid) if store.server_pid else 0.0

    # -- throughput ---------------------------------------------------------

    def drain(self, jobs: int, depth: int = 0, history: int = 0,
              nodes: int = 1, longest: float = 60) -> dict:
        with self._store() as store, self._samples() as samples, \
                contextlib.ExitStack() as stack:
            self._fill(store, jobs + depth, history)
            running = [
                stack.enter_context(self._node(store, samples, f"bench-{i}"))
                for i in range(1, nodes + 1)]
            wait_until_quiet(self._quiet_s)
            server, cpu = self._server_cpu(store), self._cpu(running)
            start = time.monotonic()
            for node in running:
                node.resume()
            reached = samples.wait_for(jobs, longest)
            started_s = time.monotonic() - start
            while reached and depth == 0 and not store.drained():
                time.sleep(0.002)
            seconds = time.monotonic() - start
            # With more in the queue the node goes on: what it did counts.
            done = samples.started
            cpu = self._cpu(running) - cpu
            server = self._server_cpu(store) - server
            counted = jobs if reached else done
            return self._row(
                "drain", jobs=counted, partial=not reached, depth=depth,
                history=history, nodes=nodes, seconds=round(seconds, 3),
                jobs_per_s=round(counted / seconds),
                started_per_s=round(counted / started_s),
                worker_cpu_s_per_10k=round(cpu / max(done, 1) * 1e4, 3),
                server_cpu_s_per_10k=round(server / max(done, 1) * 1e4, 3),
                worker_peak_rss_mb=max(x.peak_mb() for x in running))

    @staticmethod
    def _cpu(nodes: list[BenchNode]) -> float:
        return sum(x.cpu_s() for x in nodes)

    def _enqueue(self, measure: str, kind: str, **options) -> dict:
        with self._store() as store, self._node(store) as node:
            node.pause()
            wait_until_quiet(self._quiet_s)
            cpu, server = node.cpu_s(), self._server_cpu(store)
            got = node.client(kind, **options)
            jobs = got.get("jobs", got["n"])
            return self._row(
                measure, jobs=jobs, seconds=round(got["seconds"], 3),
                jobs_per_s=round(got["per_s"]),
                worker_cpu_s_per_10k=round(
                    (node.cpu_s() - cpu) / jobs * 1e4, 3),
                server_cpu_s_per_10k=round(
                    (self._server_cpu(store) - server) / jobs * 1e4, 3),
                worker_peak_rss_mb=node.peak_mb(),
                client=got, **{k: v for k, v in got.items()
                               if k in ("p50_ms", "p99_ms", "max_ms")})

    def enqueue_single(self, jobs: int, connections: int = 64) -> dict:
        row = self._enqueue("enqueue-single", "post", requests=jobs,
                            connections=connections)
        return {**row, "concurrency": connections}

    def enqueue_bulk(self, jobs: int, batch: int = 1000) -> dict:
        row = self._enqueue("enqueue-bulk", "bulk", jobs=jobs, batch=batch)
        return {**row, "batch": batch}

    # -- latency ------------------------------------------------------------

    def _latency(self, measure: str, kind: str, count: int,
                 **options) -> dict:
        with self._store() as store, self._samples(count) as samples, \
                self._node(store, samples) as node:
            wait_until_quiet(self._quiet_s)
            cpu, server = node.cpu_s(), self._server_cpu(store)
            got = node.client(kind, samples=samples.path, **options)
            return self._row(
                measure, **got,
                worker_cpu_s_per_10k=round(
                    (node.cpu_s() - cpu) / count * 1e4, 3),
                server_cpu_s_per_10k=round(
                    (self._server_cpu(store) - server) / count * 1e4, 3))

    def latency_idle(self, jobs: int) -> dict:
        return self._latency("latency-idle", "idle", jobs, jobs=jobs)

    def latency_load(self, rate: int, seconds: int) -> dict:
        return self._latency("latency-load", "steady", rate * seconds,
                             rate=rate, seconds=seconds)

    def notify(self, jobs: int) -> dict:
        """`reeve.enqueue` by another program's SQL wakes an idle node."""
        with self._store() as store, self._samples(jobs) as samples, \
                self._node(store, samples):
            wait_until_quiet(self._quiet_s)
            for i in range(1, jobs + 1):
                store.db.run(
                    "SELECT reeve.enqueue('BENCH', 'target',"
                    f" '{{\"t\": {time.monotonic_ns()}}}')")
                if not samples.wait_for(i, 30):
                    break
                time.sleep(0.05)
            return self._row("notify", **percentiles(samples.waits_ms()),
                             sent=jobs)

    # -- one process --------------------------------------------------------

    def startup(self, rest_s: float) -> dict:
        """A fresh process to its first job, then with nothing to do."""
        with self._store() as store, self._samples() as samples:
            with self._node(store, name="bench-filler"):
                pass
            store.add_job()
            store.settle()
            wait_until_quiet(self._quiet_s)
            with self._node(store, samples) as node:
                if not samples.wait_for(1, 60):
                    raise RuntimeError("the first job does not start")
                first_ms = (samples.first_ns - node.started_ns) / 1e6
                time.sleep(rest_s)
                cpu, server = node.cpu_s(), self._server_cpu(store)
                time.sleep(rest_s)
                cpu = node.cpu_s() - cpu
                server = self._server_cpu(store) - server
                return self._row(
                    "startup", first_job_ms=round(first_ms, 1),
                    idle_rss_mb=node.rss_mb(),
                    idle_worker_cpu_ms_per_s=round(cpu / rest_s * 1e3, 2),
                    idle_server_cpu_ms_per_s=round(server / rest_s * 1e3, 2))

    # -- many clients, many nodes -------------------------------------------

    def watch(self, watchers: int, rate: int) -> dict:
        with self._store() as store, \
                self._node(store, http__max_connections=watchers + 100) as node:
            node.pause()
            wait_until_quiet(self._quiet_s)
            return self._row("watch", rate=rate, **node.client(
                "watch", watchers=watchers, rate=rate, pid=node.pid))

    def connections(self, count: int, requests: int) -> dict:
        """Many keep-alive connections, each with a request in flight."""
        row = self._enqueue("connections", "post", requests=requests,
                            connections=count)
        return {**row, "concurrency": count,
                "spread": row["p99_ms"] / row["p50_ms"]}

    def kill(self, jobs: int, longest: float = 120, **options) -> dict:
        """Two nodes; one is killed after a third of the work."""
        with self._store() as store, self._samples() as samples:
            self._fill(store, jobs)
            first = BenchNode(store.url, self._folder, "bench-1", samples,
                              **options).wait_until_listening()
            try:
                with self._node(store, samples, "bench-2", **options) as other:
                    start = time.monotonic()
                    first.resume()
                    other.resume()
                    samples.wait_for(jobs // 3, longest)
                    first.kill()
                    killed = time.monotonic()
                    while (not store.drained()
                           and time.monotonic() - killed < longest):
                        time.sleep(0.01)
                    end = time.monotonic()
                    counts = store.counts()
            finally:
                first.kill()
            completed = counts.get("COMPLETED", 0)
            return self._row(
                "kill", jobs=jobs, seconds=round(end - start, 2),
                seconds_after_kill=round(end - killed, 2),
                lease=options.get("node__lease", "30s"),
                completed=completed, rescued=counts["rescued"],
                started_twice=samples.started - jobs,
                lost=jobs - completed)
