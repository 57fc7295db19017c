# tests/e2e/faults.py -- what the tests of crashes and outages share: a load
# with a ledger of what was accepted, and the invariants that hold afterwards.
import http.client
import threading
import time

from harness import Database, FakeAnalysis, Node, NodeTest, Response, Timeout

__all__ = ["FaultTest", "Load", "wait_until"]


def wait_until(condition, what: str, timeout: float = 30):
    """Asks until `condition()` is true; for what announces no change."""
    deadline = time.monotonic() + timeout
    while not (result := condition()):
        if time.monotonic() > deadline:
            raise Timeout("in vain waited for " + what)
        time.sleep(0.05)
    return result


class Load:
    """Posts scraps from threads of its own and keeps the ledger of those
    that were accepted, until `target` of them were. It rides out any outage;
    an answer that never came counts as neither accepted nor refused."""

    def __init__(self, node: Node, target: int, threads: int = 3,
                 backlog: int = 250):
        self.accepted: dict[str, str] = {}  # job id -> title
        self.refused: dict[int, int] = {}  # status -> answers
        self.problems: list[str] = []
        self.doubtful = 0
        self._node = node
        self._target = target
        self._backlog = backlog
        self._sent = 0
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._allowed = threading.Semaphore(0)
        self._threads = [threading.Thread(target=self._run, daemon=True)
                         for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def allow(self, count: int):
        """Lets `count` more posts through."""
        self._allowed.release(count)

    def finish(self, timeout: float = 60):
        """Waits until the target is reached."""
        self.allow(10 * self._target)
        wait_until(lambda: len(self.accepted) >= self._target,
                   f"{self._target} accepted scraps", timeout)
        self.stop()

    def stop(self):
        self._stop.set()
        self._allowed.release(len(self._threads))
        for thread in self._threads:
            thread.join(30)

    def _run(self):
        while not self._stop.is_set():
            self._allowed.acquire()
            with self._lock:
                self._sent += 1
                title = f"text {self._sent}"
            if self._stop.is_set() or len(self.accepted) >= self._target:
                return
            self._post(title)

    def _post(self, title: str):
        body = {"content": f"This is {title}. It is short.", "title": title}
        try:
            answer = self._node.request("POST", "/api/scraps", body)
        except ConnectionRefusedError:
            self._stop.wait(0.05)
            return
        except (OSError, http.client.HTTPException):
            with self._lock:
                self.doubtful += 1
            return
        with self._lock:
            if answer.status == 200:
                self.accepted[answer.json["job_id"]] = title
                return
            self.refused[answer.status] = (
                self.refused.get(answer.status, 0) + 1)
            if answer.status != 503 or "Retry-After" not in answer.headers:
                self.problems.append(repr(answer))
        self._stop.wait(0.1)


class FaultTest(NodeTest):
    """Each test starts the nodes it needs."""

    @classmethod
    def setUpClass(cls):
        pass

    def start(self, fake: FakeAnalysis | None = None,
              options: dict | None = None,
              database: Database | None = None) -> Node:
        """A node that uses `fake`, on a database of its own by default."""
        return self.start_node(
            {**(fake.options if fake else {}), **(options or {})},
            database=database)

    def calls_of(self, fake: FakeAnalysis, title: str) -> list[dict]:
        return [call for call in fake.calls() if call["title"] == title]

    def wait_for_call(self, fake: FakeAnalysis, title: str | None = None,
                      count: int = 1) -> dict:
        """The call number `count` (about `title`), once it has arrived."""
        def arrived():
            calls = fake.calls() if title is None else (
                self.calls_of(fake, title))
            return calls[count - 1] if len(calls) >= count else None
        return wait_until(arrived, f"call {count} to the analysis server")

    def assert_unavailable(self, answer: Response, *codes: str):
        """503 with a hint when to come back, for one of the `codes`."""
        problem = self.assert_problem(answer, 503)
        self.assertIn(problem["type"].rsplit(":", 1)[1], codes)
        self.assertGreaterEqual(int(answer.headers["Retry-After"]), 1)

    # -- what holds after any fault -----------------------------------------

    def wait_for_quiet(self, database: Database, timeout: float = 60):
        def unfinished():
            return int(database.sql("SELECT (SELECT count(*) FROM queue) + "
                                    "(SELECT count(*) FROM running)")[0][0])
        wait_until(lambda: unfinished() == 0, "all jobs to end", timeout)

    def assert_accepted_completed(self, load: Load, database: Database):
        """Every accepted job is there, COMPLETED, with one card."""
        self.assertEqual(load.problems, [])
        found = {id: (status, int(cards)) for id, status, cards in
                 database.sql("SELECT j.id, j.status, count(c.id) FROM jobs j "
                              "LEFT JOIN knowledge_cards c ON c.job_id = j.id "
                              "GROUP BY j.id, j.status")}
        wrong = {id: found.get(id, "lost") for id in load.accepted
                 if found.get(id) != ("COMPLETED", 1)}
        self.assertEqual(wrong, {})
        # Those whose answer never came may be there, but whole.
        self.assertEqual(set(found.values()), {("COMPLETED", 1)})
        self.assertLessEqual(len(found),
                             len(load.accepted) + load.doubtful
                             + load.refused.get(503, 0))

    def assert_invariants(self, database: Database):
        """What no fault may break, at rest or in the middle of work."""
        query = " UNION ALL ".join(
            f"SELECT '{what}', CAST(culprit AS text) FROM ({query}) q"
            for what, query in INVARIANTS.items())
        self.assertEqual(database.sql(query), [])

    def assert_effects_explained(self, fake: FakeAnalysis,
                                 database: Database):
        """A text was analysed once for each of its runs at most."""
        calls: dict[str, int] = {}
        for call in fake.calls():
            calls[call["title"]] = calls.get(call["title"], 0) + 1
        runs = {title: int(run) for title, run in database.sql(
            "SELECT s.title, j.run FROM jobs j "
            "JOIN scraps s ON CAST(s.id AS text) = j.target_id")}
        unexplained = {title: count for title, count in calls.items()
                       if count > runs.get(title, 0)}
        self.assertEqual(unexplained, {})


# Each query finds what must not be.
INVARIANTS = {
    "both waits and runs":
        "SELECT q.seq AS culprit FROM queue q "
        "JOIN running r ON r.seq = q.seq",
    "unfinished, but neither waits nor runs":
        "SELECT j.id AS culprit FROM job j WHERE j.outcome IS NULL "
        "AND NOT EXISTS (SELECT 1 FROM queue q WHERE q.seq = j.seq) "
        "AND NOT EXISTS (SELECT 1 FROM running r WHERE r.seq = j.seq)",
    "finished, but still waits or runs":
        "SELECT j.id AS culprit FROM job j WHERE j.outcome IS NOT NULL "
        "AND (EXISTS (SELECT 1 FROM queue q WHERE q.seq = j.seq) "
        "OR EXISTS (SELECT 1 FROM running r WHERE r.seq = j.seq))",
    "completed without exactly one card":
        "SELECT j.id AS culprit FROM job j WHERE j.outcome = 'COMPLETED' "
        "AND 1 <> (SELECT count(*) FROM knowledge_cards c "
        "WHERE c.job_id = j.id)",
    "has a card, but did not complete":
        "SELECT j.id AS culprit FROM knowledge_cards c "
        "JOIN job j ON j.id = c.job_id "
        "WHERE j.outcome IS NULL OR j.outcome <> 'COMPLETED'",
    "completed, but not all other runs are on record":
        "SELECT j.id AS culprit FROM job j WHERE j.outcome = 'COMPLETED' "
        "AND j.run <> 1 + "
        "(SELECT count(*) FROM job_attempts a WHERE a.seq = j.seq)",
    "completed, but runs are neither spent nor counted apart":
        "SELECT j.id AS culprit FROM job j WHERE j.outcome = 'COMPLETED' "
        "AND j.run <> j.attempts + j.throttled + j.provider_down "
        "+ j.interrupted",
    "more attempts than allowed":
        "SELECT j.id AS culprit FROM jobs j "
        "WHERE j.attempts > j.max_attempts",
    "an outcome whose count is wrong":
        "SELECT outcome AS culprit FROM (SELECT outcome, sum(jobs) AS jobs "
        "FROM finished_counts GROUP BY outcome) c WHERE jobs <> "
        "(SELECT count(*) FROM job j WHERE j.outcome = c.outcome)",
    "ended before it began":
        "SELECT j.id AS culprit FROM job j WHERE j.finished_at < j.started_at "
        "OR j.started_at < j.created_at",
}
