# tests/e2e/api_operations.py -- what operators look at: health, metrics, the
# tree of actors, counts.
import re
import time
import unittest

from harness import NodeTest, both_stores, time_in

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
NUMBER = r"(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]Inf|NaN)"
SAMPLE = re.compile(rf"({NAME})(?:{{({LABEL}(?:,{LABEL})*)?}})? ({NUMBER})"
                    r"(?: (-?\d+))?")


def parse_metrics(text: str) -> dict[tuple, float]:
    """Prometheus' text format 0.0.4, strictly: series to value."""
    if not text.endswith("\n"):
        raise AssertionError("the last line has no end")
    kinds: dict[str, str] = {}
    helps: set[str] = set()
    series: dict[tuple, float] = {}
    done: set[str] = set()
    family = None
    for line in text[:-1].split("\n"):
        if meta := re.fullmatch(rf"# (HELP|TYPE) ({NAME}) (.+)", line):
            word, name, rest = meta.groups()
            if name != family:
                if family:
                    done.add(family)
                family = name
            if name in done or name in (helps if word == "HELP" else kinds):
                raise AssertionError(f"not in one block: {line}")
            if word == "HELP":
                helps.add(name)
            elif rest in ("counter", "gauge", "histogram", "summary",
                          "untyped"):
                kinds[name] = rest
            else:
                raise AssertionError(f"no such type: {line}")
            continue
        if not (found := SAMPLE.fullmatch(line)):
            raise AssertionError(f"not a sample: {line!r}")
        name, labels, value = found.group(1), found.group(2) or "", found[3]
        suffixes = (("_bucket", "_sum", "_count")
                    if kinds.get(family) == "histogram" else ("",))
        if name not in [f"{family}{suffix}" for suffix in suffixes]:
            raise AssertionError(f"{line} is not of {family}")
        key = (name, tuple(sorted(re.findall(LABEL, labels))))
        if key in series:
            raise AssertionError(f"twice: {line}")
        series[key] = float(value)
    check_histograms(series, [x for x in kinds if kinds[x] == "histogram"])
    return series


def check_histograms(series: dict[tuple, float], names: list[str]):
    for name in names:
        buckets = {}
        for (metric, labels), value in series.items():
            if metric == name + "_bucket":
                [bound] = [x for x in labels if x.startswith("le=")]
                rest = tuple(x for x in labels if x != bound)
                buckets.setdefault(rest, []).append(
                    (float(bound[4:-1]), value))
        for labels, values in buckets.items():
            bounds = [x[0] for x in values]
            counts = [x[1] for x in values]
            if bounds != sorted(set(bounds)) or counts != sorted(counts) \
                    or bounds[-1] != float("inf") \
                    or counts[-1] != series[(name + "_count", labels)] \
                    or (name + "_sum", labels) not in series:
                raise AssertionError(f"no histogram: {name} {values}")


@both_stores
class Health(NodeTest):
    def test_health_and_readiness(self):
        self.assertEqual(self.node.get("/healthz").json, {"status": "ok"})
        self.assertEqual(self.node.get("/readyz").json, {"status": "ready"})
        self.assert_problem(self.node.get("/healthz?x=1"), 400)
        self.assert_problem(self.node.post("/readyz", {}), 405)


@both_stores
class Metrics(NodeTest):
    def metrics(self, node) -> dict[tuple, float]:
        answer = node.get("/metrics")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["Content-Type"],
                         "text/plain; version=0.0.4; charset=utf-8")
        return parse_metrics(answer.body.decode("utf-8"))

    def test_format(self):
        fresh = self.metrics(self.node)
        for name in ("reeve_database_writes_total", "reeve_slots_busy",
                     "reeve_http_connections", "reeve_database_up",
                     "reeve_jobs_rescued_total", "reeve_jobs_fenced_total"):
            self.assertIn((name, ()), fresh)
        self.node.wait_for_job(self.node.add_job('"\\\n')["id"])
        self.metrics(self.node)

    def test_counters_equal_what_was_done(self):
        node = self.start_node()
        for i in range(3):
            node.wait_for_job(node.add_job(f"gone-{i}")["id"])
        for i in range(2):
            made = node.add_scrap(f"The text of scrap number {i} is short.")
            node.wait_for_job(made["job_id"], "COMPLETED")
        later = node.add_job(run_at=time_in(3600))
        node.post(f"/api/jobs/{later['id']}/cancel")
        node.post("/api/jobs/batch", {"jobs": [
            {"type": "CARD_ANALYSIS", "target_id": "t",
             "run_at": time_in(3600)}] * 4})
        for _ in range(5):
            node.get("/nowhere")
        node.get("/api/jobs?limit=0")
        now = self.metrics(node)
        card = 'type="CARD_ANALYSIS"'
        self.assertEqual(now[("reeve_jobs_enqueued_total", (card,))], 10)
        self.assertEqual(now[("reeve_runs_started_total", (card,))], 5)
        self.assertEqual(now[("reeve_job_wait_seconds_count", (card,))], 5)
        self.assertEqual(
            now[("reeve_run_duration_seconds_count", (card,))], 5)
        for outcome, count in (("completed", 2), ("failed_permanently", 3)):
            self.assertEqual(now[("reeve_runs_ended_total",
                                  (f'outcome="{outcome}"', card))], count)
        for status, count in (("COMPLETED", 2), ("FAILED", 3),
                              ("CANCELLED", 1)):
            key = (f'status="{status}"', card)
            self.assertEqual(now[("reeve_jobs_finished_total", key)], count)
            self.assertEqual(now[("reeve_jobs", key)], count)
        self.assertEqual(now[("reeve_jobs", ('status="PENDING"', card))], 4)
        self.assertEqual(now[("reeve_jobs_oldest_due_age_seconds", ())], 0)

        def requests(code: str, method: str, route: str) -> float:
            return now[("reeve_http_requests_total", (
                f'code="{code}"', f'method="{method}"', f'route="{route}"'))]
        self.assertEqual(requests("2xx", "POST", "/api/jobs"), 4)
        self.assertEqual(requests("2xx", "POST", "/api/jobs/batch"), 1)
        self.assertEqual(requests("4xx", "GET", "/api/jobs"), 1)
        self.assertEqual(requests("5xx", "GET", "/api/jobs"), 0)
        self.assertEqual(requests("4xx", "other", "none"), 5)
        self.assertNotIn(later["id"], node.get("/metrics").body.decode())
        count = {suffix: sum(value for (name, _), value in now.items()
                             if name == "reeve_http_request" + suffix)
                 for suffix in ("s_total", "_duration_seconds_count")}
        self.assertEqual(*count.values())
        for name in ("reeve_slots_busy", "reeve_jobs_fenced_total",
                     "reeve_jobs_rescued_total"):
            self.assertEqual(now[(name, ())], 0, name)
        self.assertEqual(now[("reeve_slots", ())], 3)
        self.assertEqual(now[("reeve_database_up", ())], 1)
        self.assertEqual(now[("reeve_actor_restarts_total",
                              ('actor="db"',))], 0)

    def test_gauges_go_back(self):
        node = self.start_node()
        job = node.add_job(run_at=time_in(3600))
        streams = [node.sse(f"/api/jobs/{job['id']}/events")
                   for _ in range(10)]
        for stream in streams:
            stream.next()
        busy = self.metrics(node)
        self.assertEqual(busy[("reeve_http_watchers", ())], 10)
        self.assertEqual(busy[("reeve_http_connections", ())], 11)
        for stream in streams:
            stream.close()
        deadline = time.monotonic() + 10
        while True:
            now = self.metrics(node)
            if (now[("reeve_http_watchers", ())],
                    now[("reeve_http_connections", ())]) == (0, 1):
                break
            self.assertLess(time.monotonic(), deadline, now)

    def test_running_jobs_are_counted(self):
        fake = self.start_analysis()
        node = self.start_node(fake.options)
        made = node.add_scrap("!fault ok;delay=0.6\nRuns for a moment.")
        node.wait_for_job(made["job_id"], "PROCESSING")
        self.assertEqual(self.metrics(node)[("reeve_slots_busy", ())], 1)
        node.wait_for_job(made["job_id"], "COMPLETED")


@both_stores
class Actors(NodeTest):
    FIELDS = {"name", "id", "parent", "state", "mailbox", "messages",
              "wait_seconds", "handling_seconds", "counts", "restarts",
              "restart_history", "restart_budget", "last_error",
              "uptime_seconds", "job_id", "job_type", "job_since", "commits",
              "lane"}

    def expected(self, workers: int = 3) -> set[str]:
        names = {"supervisor", "event-hub", "db", "query", "recovery",
                 "scheduler", "gateway"}
        if self.store == "postgresql":
            names.add("listener")
        return names | {f"job-{i + 1}" for i in range(workers)}

    def test_the_tree(self):
        answer = self.node.get("/api/actors").json
        self.assertEqual(answer["node"], "node-1")
        actors = answer["actors"]
        names = [x["name"] for x in actors]
        self.assertEqual(len(names), len(set(names)))
        self.assertLessEqual(self.expected(), set(names))
        self.assertEqual([x["name"] for x in actors if x["parent"] is None],
                         ["supervisor"])
        for actor in actors:
            self.assertEqual(set(actor), self.FIELDS)
            self.assertTrue(actor["parent"] in names + [None])
            self.assertEqual((actor["restarts"], actor["last_error"],
                              actor["job_id"]), (0, None, None))
            self.assertNotIn(actor["state"], ("", "unresponsive", "degraded"))
            self.assertGreater(actor["uptime_seconds"], 0)
        self.assertEqual(len({x["id"] for x in actors}), len(actors))

    def test_workers(self):
        node = self.start_node({"workers": 7})
        names = {x["name"] for x in node.get("/api/actors").json["actors"]}
        self.assertLessEqual(self.expected(7), names)
        self.assertNotIn("job-8", names)

    def test_a_busy_slot_names_its_job(self):
        fake = self.start_analysis()
        node = self.start_node(fake.options)
        made = node.add_scrap("!fault ok;delay=0.6\nRuns for a moment.")
        node.wait_for_job(made["job_id"], "PROCESSING")
        busy = [x for x in node.get("/api/actors").json["actors"]
                if x["job_id"]]
        self.assertEqual({x["job_id"] for x in busy}, {made["job_id"]})
        self.assertRegex(busy[0]["name"], r"^job-\d$")
        self.assertEqual([x["parent"] for x in busy],
                         ["supervisor", busy[0]["name"]])
        self.assertNotEqual(busy[0]["state"], "idle")


@both_stores
class Stats(NodeTest):
    def test_counts(self):
        node = self.start_node()
        nothing = {"PENDING": 0, "PROCESSING": 0, "COMPLETED": 0, "FAILED": 0,
                   "CANCELLED": 0}
        stats = node.get("/api/stats").json
        self.assertEqual(stats["jobs"], nothing)
        self.assertEqual(stats["by_type"], {})
        self.assertIsNone(stats["oldest_due_seconds"])
        node.wait_for_job(node.add_job()["id"])
        made = node.add_scrap("One sentence to be analysed.")
        node.wait_for_job(made["job_id"], "COMPLETED")
        gone = node.add_job(run_at=time_in(3600))
        node.post(f"/api/jobs/{gone['id']}/cancel")
        for _ in range(3):
            node.add_job(run_at=time_in(3600))
        stats = node.get("/api/stats").json
        self.assertEqual(stats["jobs"], {
            "PENDING": 3, "PROCESSING": 0, "COMPLETED": 1, "FAILED": 1,
            "CANCELLED": 1})
        self.assertEqual(stats["by_type"], {"CARD_ANALYSIS": {
            "PENDING": 3, "COMPLETED": 1, "FAILED": 1, "CANCELLED": 1}})
        # Nothing that waits is due.
        self.assertIsNone(stats["oldest_due_seconds"])

    def test_age_of_what_is_due(self):
        fake = self.start_analysis()
        node = self.start_node({**fake.options, "workers": 1})
        blocker = node.add_scrap("!fault ok;delay=0.8\nKeeps the only slot.")
        node.wait_for_job(blocker["job_id"], "PROCESSING")
        node.add_job()
        stats = node.get("/api/stats").json
        self.assertEqual(stats["jobs"]["PROCESSING"], 1)
        self.assertTrue(0 <= stats["oldest_due_seconds"] < 1, stats)
        node.wait_for_job(blocker["job_id"], "COMPLETED")


if __name__ == "__main__":
    unittest.main()
