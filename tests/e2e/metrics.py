# tests/e2e/metrics.py -- /metrics as Prometheus sees it: promtool, a real
# server that scrapes a real node, and the files in ops/.
import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from urllib.parse import urlencode

from api_operations import parse_metrics
from book_shop import BookProviders
from faults import wait_until
from harness import ROOT, Database, Node, NodeTest, Postgres, free_port, \
    run_reeve
from process import Process

DASHBOARD = ROOT / "ops/grafana/reeve.json"
RULES = ROOT / "ops/prometheus/reeve.rules.yml"
METRIC = re.compile(r"\b(?:reeve|process)_[a-z0-9_]+\b")
# What Grafana puts into a query.
VARIABLES = {"$__rate_interval": "5m", "$instance": ".*", "$job": ".*",
             "$type": ".*"}


def promtool(*args: str, **kwargs) -> subprocess.CompletedProcess:
    return subprocess.run(["promtool", *args], capture_output=True, text=True,
                          timeout=60, **kwargs)


def panels() -> list[dict]:
    return json.loads(DASHBOARD.read_text("utf-8"))["panels"]


def queries() -> list[str]:
    """Of all panels, as Grafana sends them."""
    result = []
    for panel in panels():
        for target in panel.get("targets", []):
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            result.append(query)
    return result


class Prometheus:
    """A server of the test's own, with its own data; loopback only."""

    def __init__(self, target: str, key: str):
        self._folder = tempfile.mkdtemp(prefix="reeve-prometheus-")
        self.port = free_port()
        config = os.path.join(self._folder, "prometheus.yml")
        with open(os.path.join(self._folder, "reeve.key"), "w",
                  encoding="utf-8") as file:
            file.write(key)
        shutil.copy(RULES, self._folder)
        # The sample, with the target and the key of the test.
        text = (ROOT / "ops/prometheus/prometheus.yml").read_text("utf-8")
        text = text.replace("# authorization:", "authorization:") \
            .replace("#   credentials_file:", "  credentials_file:") \
            .replace("localhost:8080", target).replace(": 15s", ": 1s")
        with open(config, "w", encoding="utf-8") as file:
            file.write(text)
        checked = promtool("check", "config", config)
        if checked.returncode != 0:
            raise AssertionError(checked.stderr)
        self._process = Process([
            "prometheus", f"--config.file={config}",
            f"--storage.tsdb.path={self._folder}/data",
            f"--web.listen-address=127.0.0.1:{self.port}"],
            cwd=self._folder, stdin=subprocess.DEVNULL)
        self._process.wait_for_line("ready to receive web requests")

    def close(self):
        if self._process.running:
            self._process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def ask(self, path: str, **parameters):
        client = http.client.HTTPConnection("127.0.0.1", self.port,
                                            timeout=30)
        try:
            client.request("GET", f"/api/v1/{path}?{urlencode(parameters)}")
            answer = json.loads(client.getresponse().read())
        finally:
            client.close()
        if answer["status"] != "success":
            raise AssertionError(f"{parameters}: {answer}")
        return answer["data"]

    def query(self, query: str) -> list[dict]:
        return self.ask("query", query=query)["result"]

    def value(self, query: str) -> float | None:
        """Of the one series there is."""
        found = self.query(query)
        return float(found[0]["value"][1]) if len(found) == 1 else None


class Files(unittest.TestCase):
    """The files that operators take."""

    def test_promtool_accepts_the_rules_and_the_sample(self):
        for command in (("check", "rules", str(RULES)),
                        ("check", "config",
                         str(ROOT / "ops/prometheus/prometheus.yml")),
                        ("test", "rules", "reeve.rules.test.yml")):
            with self.subTest(command=command):
                done = promtool(*command, cwd=RULES.parent)
                self.assertEqual(done.returncode, 0, done.stderr + done.stdout)

    def test_every_alert_has_a_test(self):
        alerts = re.findall(r"- alert: (\w+)", RULES.read_text("utf-8"))
        tested = (RULES.parent / "reeve.rules.test.yml").read_text("utf-8")
        self.assertTrue(alerts)
        for alert in alerts:
            cases = re.findall(rf"alertname: {alert}\n.*\n\s+exp_alerts:(.*)",
                               tested)
            self.assertIn("", cases, alert)

    def test_the_dashboard_is_one(self):
        board = json.loads(DASHBOARD.read_text("utf-8"))
        self.assertEqual(board["uid"], "reeve")
        self.assertIsNone(board["id"])
        self.assertGreaterEqual(board["schemaVersion"], 39)
        names = {x["name"] for x in board["templating"]["list"]}
        self.assertEqual(names, {"datasource", "job", "instance", "type"})
        ids = [x["id"] for x in panels()]
        self.assertEqual(len(ids), len(set(ids)))
        taken = set()
        for panel in panels():
            with self.subTest(panel=panel["title"]):
                self.assertIn(panel["type"], {"row", "stat", "timeseries",
                                              "state-timeline"})
                at = panel["gridPos"]
                self.assertLessEqual(at["x"] + at["w"], 24)
                cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                         for y in range(at["y"], at["y"] + at["h"])}
                self.assertFalse(cells & taken)
                taken |= cells
                if panel["type"] == "row":
                    continue
                self.assertTrue(panel["description"])
                self.assertEqual(panel["datasource"]["uid"], "${datasource}")
                for target in panel["targets"]:
                    self.assertEqual(target["datasource"],
                                     panel["datasource"])
                    for name in re.findall(r"\$(\w+)", target["expr"]):
                        self.assertIn(name, names | {"__rate_interval"})


class Scraped(NodeTest):
    """A node that did a bit of everything, with keys."""

    @classmethod
    def setUpClass(cls):
        cls.store = "postgresql"
        cls.providers = BookProviders()
        cls.addClassCleanup(cls.providers.close)
        cls.options = {**cls.providers.options, "auth.mode": "api-key",
                       "types.FAILS.processor": "command",
                       "types.FAILS.command": '["/bin/sh", "-c", "exit 65"]'}
        super().setUpClass()
        made = run_reeve("keys", "create", "--role=operator", "--name=test",
                         f"--database.url={cls.node.database.url}")
        cls.key = made.stdout.split()[0]
        cls.headers = {"Authorization": "Bearer " + cls.key}
        run_reeve("accounts", "grant", "local", "1000",
                  f"--database.url={cls.node.database.url}")
        cls.work()
        cls.prometheus = Prometheus(f"127.0.0.1:{cls.node.port}", cls.key)
        cls.addClassCleanup(cls.prometheus.close)

    @classmethod
    def work(cls):
        made = [cls.post("/api/generate", {"title": "T", "prompt": "a cat",
                                           "pages": 2})["job_id"]]
        made += [cls.post("/api/jobs", {"type": "FAILS",
                                        "target_id": "t"})["id"]
                 for _ in range(3)]
        for job_id in made:
            wait_until(lambda: cls.node.get(
                f"/api/jobs/{job_id}?wait=1", cls.headers).json["status"]
                in ("COMPLETED", "FAILED"), job_id)

    @classmethod
    def post(cls, path: str, body: dict) -> dict:
        answer = cls.node.post(path, body, cls.headers)
        if answer.status != 202:
            raise AssertionError(answer)
        return answer.json

    def text(self) -> str:
        answer = self.node.get("/metrics", self.headers)
        self.assertEqual(answer.status, 200, answer)
        return answer.body.decode("utf-8")

    def test_promtool_has_nothing_to_say(self):
        done = promtool("check", "metrics", input=self.text())
        self.assertEqual((done.returncode, done.stdout, done.stderr),
                         (0, "", ""))

    def test_all_metrics_of_the_files_exist(self):
        families = set(re.findall(r"^# TYPE (\w+) ", self.text(), re.M))
        text = "\n".join(queries()) + RULES.read_text("utf-8")
        used = {re.sub(r"_(bucket|sum|count)$", "", x)
                if re.sub(r"_(bucket|sum|count)$", "", x) in families else x
                for x in METRIC.findall(text)}
        self.assertGreater(len(used), 20)
        self.assertEqual(used - families, set())

    def test_only_operators_scrape(self):
        self.assert_problem(self.node.get("/metrics"), 401)

    def test_prometheus_scrapes_and_answers(self):
        ask = self.prometheus.value
        wait_until(lambda: ask('up{job="reeve"}') == 1, "the first scrape")
        wait_until(lambda: ask('reeve_jobs{type="FAILS",status="FAILED"}')
                   == 3, "the counts")
        self.assertEqual(ask('reeve_runs_ended_total{type="BOOK_GENERATION",'
                             'outcome="completed"}'), 1)
        self.assertEqual(ask("sum(reeve_provider_calls_total{"
                             'outcome="answered"})'), 3)
        self.assertEqual(ask("reeve_listener_listening"), 1)
        self.assertEqual(ask("min(reeve_actor_up)"), 1)
        seconds = ask('reeve_run_duration_seconds_count{type="BOOK_GENERATION"}')
        self.assertEqual(seconds, 1)
        started = ask("process_start_time_seconds")
        self.assertLess(abs(time.time() - started), 3600)

    def test_prometheus_evaluates_rules_and_panels(self):
        wait_until(lambda: self.prometheus.value('up{job="reeve"}') == 1,
                   "the first scrape")

        def all_evaluated():
            groups = self.prometheus.ask("rules")["groups"]
            return [x for g in groups for x in g["rules"]
                    if x["health"] == "unknown"] == []
        wait_until(all_evaluated, "the rules")
        [group] = self.prometheus.ask("rules")["groups"]
        for rule in group["rules"]:
            self.assertEqual(rule["health"], "ok", rule)
        for query in queries():
            self.prometheus.query(query)
        # What needs no second sample has values.
        self.assertTrue(self.prometheus.query(
            queries()[0]), queries()[0])


class Away(unittest.TestCase):
    """Counts of the database are left out while it does not answer."""

    def test_metrics_need_no_database(self):
        server = Postgres()
        self.addCleanup(server.close)
        node = Node("postgresql", database=OwnServer(server))
        self.addCleanup(node.close)

        def metrics():
            answer = node.get("/metrics")
            self.assertEqual(answer.status, 200)
            return parse_metrics(answer.body.decode("utf-8"))
        before = metrics()
        self.assertEqual(before[("reeve_database_up", ())], 1)
        self.assertIn(("reeve_jobs_oldest_due_age_seconds", ()), before)
        self.assertEqual(before[("reeve_jobs", (
            'status="PENDING"', 'type="CARD_ANALYSIS"'))], 0)
        # Types that only SQL knows share a label.
        server.sql("SELECT reeve.enqueue('SQL' || x, 't') "
                   "FROM generate_series(1, 20) AS x", node.database.name)
        self.assertEqual(metrics()[("reeve_jobs", (
            'status="PENDING"', 'type="other"'))], 20)
        self.assertNotIn("SQL", node.get("/metrics").body.decode())
        server.stop()
        wait_until(lambda: metrics()[("reeve_database_up", ())] == 0,
                   "the outage")
        during = metrics()
        self.assertFalse([x for x in during if x[0] == "reeve_jobs"])
        self.assertIn(("process_open_fds", ()), during)
        self.assertIn(("reeve_actor_up", ('actor="db"',)), during)
        self.assertEqual(during[("reeve_listener_listening", ())], 0)
        server.start()
        wait_until(lambda: metrics()[("reeve_database_up", ())] == 1,
                   "the end of the outage")
        wait_until(lambda: ("reeve_jobs_oldest_due_age_seconds", ())
                   in metrics(), "the counts")


class OwnServer(Database):
    """A database on a server that the test may stop."""

    def __init__(self, server: Postgres):
        self.store = "postgresql"
        self.server = server
        self.name = server.create_database()
        self.url = server.url(self.name)


if __name__ == "__main__":
    unittest.main()
