# tests/e2e/drain.py -- SIGTERM: what still runs, what is refused, what is
# given back, and how the node ends.
import signal
import sqlite3
import threading
import time
import unittest

from faults import FaultTest, Load, wait_until
from harness import both_stores


@both_stores
class Drain(FaultTest):

    def test_idle_node_ends_at_once(self):
        node = self.start()
        began = time.monotonic()
        self.assertEqual(node.terminate(), 0)
        self.assertLess(time.monotonic() - began, 2)
        self.assertIn("supervisor.stopped", node.log)

    def test_idle_clients_do_not_hold_it_up(self):
        node = self.start()
        connections = [node.connection() for _ in range(3)]
        for connection in connections:
            answer = node.request("GET", "/healthz", connection=connection)
            self.assertEqual(answer.status, 200)
        began = time.monotonic()
        self.assertEqual(node.terminate(), 0)
        self.assertLess(time.monotonic() - began, 2)
        for connection in connections:
            connection.close()

    def test_running_job_ends_within_the_grace(self):
        fake = self.start_analysis()
        node = self.start(fake, {"shutdown-grace": "20s", "workers": 1})
        fake.mode("ok;delay=2", times=1)
        job_id = node.add_scrap("Takes a while.", title="t")["job_id"]
        self.wait_for_call(fake, "t")
        # It waits behind, and must be found untouched by the next start.
        waiting = node.add_scrap("Waits.", title="waits")["job_id"]
        began = time.monotonic()
        node.signal(signal.SIGTERM)
        node.wait_for_log("supervisor.draining")
        self.assert_unavailable(node.post("/api/scraps", {"content": "New."}),
                                "shutting_down")
        self.assert_unavailable(
            node.post("/api/jobs", {"type": "CARD_ANALYSIS",
                                    "target_id": "x"}), "shutting_down")
        self.assert_unavailable(
            node.post("/api/jobs/batch", {"jobs": [
                {"type": "CARD_ANALYSIS", "target_id": "x"}]}),
            "shutting_down")
        self.assert_unavailable(node.get("/readyz"), "shutting_down")
        self.assertEqual(node.get("/healthz").status, 200)
        self.assertEqual(node.job(job_id)["status"], "PROCESSING")
        self.assertEqual(node.job(waiting)["status"], "PENDING")
        self.assertEqual(node.get("/api/jobs?limit=1").status, 200)
        self.assertEqual(node.wait(), 0)
        self.assertLess(time.monotonic() - began, 8)
        self.assertEqual(
            node.database.sql("SELECT status, attempts, run FROM jobs "
                              "ORDER BY seq"),
            [["COMPLETED", "1", "1"], ["PENDING", "0", "0"]])
        self.assertEqual(node.database.sql("SELECT * FROM job_attempts"), [])
        self.assertEqual(len(fake.calls()), 1)
        node.start()
        self.assertEqual(node.wait_for_job(waiting)["attempts"], 1)
        self.assert_invariants(node.database)

    def test_hanging_job_goes_back_unspent(self):
        fake = self.start_analysis()
        node = self.start(fake, {"shutdown-grace": "1s"})
        fake.mode("hang", times=2)
        jobs = [node.add_scrap("Hangs.", title=title)["job_id"]
                for title in ("a", "b")]
        self.wait_for_call(fake, count=2)
        began = time.monotonic()
        self.assertEqual(node.terminate(), 0)
        took = time.monotonic() - began
        self.assertGreater(took, 0.9)
        self.assertLess(took, 6)
        self.assertEqual(
            node.database.sql("SELECT status, attempts, interrupted, run, "
                              "reason FROM jobs"),
            2 * [["PENDING", "0", "1", "1", "interrupted"]])
        self.assertEqual(
            node.database.sql("SELECT outcome, decision FROM job_attempts"),
            2 * [["interrupted", "retry_unspent"]])
        self.assert_invariants(node.database)
        node.start()
        for job_id in jobs:
            job = node.wait_for_job(job_id)
            self.assertEqual((job["status"], job["attempts"],
                              job["unspent"]["interrupted"]),
                             ("COMPLETED", 1, 1))
            interrupted, = node.attempts(job_id)
            self.assertEqual(interrupted["outcome"], "interrupted")
            self.assertIn("shut down", interrupted["error"])
            self.assertIn("no attempt spent", interrupted["why"])
        self.assertEqual(len(fake.calls()), 4)
        self.assert_invariants(node.database)

    def test_cancel_works_while_draining(self):
        fake = self.start_analysis()
        node = self.start(fake, {"shutdown-grace": "30s"})
        fake.mode("hang")
        job_id = node.add_scrap("Hangs.", title="t")["job_id"]
        self.wait_for_call(fake, "t")
        began = time.monotonic()
        node.signal(signal.SIGTERM)
        node.wait_for_log("supervisor.draining")
        self.assertEqual(node.post(f"/api/jobs/{job_id}/cancel").status, 200)
        self.assertEqual(node.wait(), 0)
        self.assertLess(time.monotonic() - began, 8)
        self.assertEqual(node.database.sql("SELECT status FROM jobs"),
                         [["CANCELLED"]])

    def test_streams_end_with_a_hint_when_to_come_back(self):
        fake = self.start_analysis()
        node = self.start(fake, {"shutdown-grace": "500ms"})
        fake.mode("hang")
        job_id = node.add_scrap("Hangs.", title="t")["job_id"]
        self.wait_for_call(fake, "t")
        with node.sse(f"/api/jobs/{job_id}/events") as one, \
                node.sse("/api/events") as feed:
            self.assertEqual(one.next().data["id"], job_id)
            node.signal(signal.SIGTERM)
            for stream in (one, feed):
                events = list(stream)
                self.assertTrue(events, "the stream broke off")
                self.assertIsNotNone(events[-1].retry)
                self.assertGreaterEqual(int(events[-1].retry), 100)
            self.assertEqual(node.wait(), 0)

    def test_long_poll_is_answered(self):
        fake = self.start_analysis()
        node = self.start(fake, {"shutdown-grace": "500ms"})
        fake.mode("hang")
        job_id = node.add_scrap("Hangs.", title="t")["job_id"]
        self.wait_for_call(fake, "t")
        version = node.wait_for_job(
            job_id, lambda job: job["progress"]["percent"] == 10)["version"]
        answers = []
        poll = threading.Thread(target=lambda: answers.append(node.get(
            f"/api/jobs/{job_id}?wait=30",
            {"If-None-Match": f'"{version}"'})))
        poll.start()
        wait_until(lambda: "reeve_http_watchers 1" in
                   node.get("/metrics").body.decode().replace(".0", ""),
                   "the long poll to wait")
        self.assertEqual(node.terminate(), 0)
        poll.join(10)
        answer, = answers
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.json["status"], "PENDING")

    def test_second_signal_ends_it_at_once(self):
        fake = self.start_analysis()
        node = self.start(fake, {"shutdown-grace": "60s"})
        fake.mode("hang", times=1)
        job_id = node.add_scrap("Hangs.", title="t")["job_id"]
        self.wait_for_call(fake, "t")
        node.signal(signal.SIGTERM)
        node.wait_for_log("supervisor.draining")
        began = time.monotonic()
        node.signal(signal.SIGINT)
        self.assertEqual(node.wait(), 1)
        self.assertLess(time.monotonic() - began, 1)
        # As after a crash: the attempt counts, and the job is done.
        node.start()
        job = node.wait_for_job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 2))
        self.assertEqual(node.attempts(job_id)[0]["outcome"], "lost")
        self.assert_invariants(node.database)

    def test_drains_under_load_spend_no_attempt(self):
        fake = self.start_analysis(delay=0.05)
        node = self.start(fake, {"workers": 4, "shutdown-grace": "20ms"})
        cycles, each = 8, 20
        load = Load(node, target=100 + cycles * each)
        self.addCleanup(load.stop)
        load.allow(100)
        for cycle in range(cycles):
            load.allow(each)
            # New work has come and gone since the last start.
            calls = len(fake.calls())
            wait_until(lambda: len(fake.calls()) > calls + 4, "some runs")
            self.assertEqual(node.terminate(), 0)
            self.assertEqual(
                node.database.sql("SELECT * FROM running"), [])
            self.assert_invariants(node.database)
            node.start()
        load.finish()
        self.wait_for_quiet(node.database)
        self.assert_accepted_completed(load, node.database)
        self.assert_invariants(node.database)
        self.assert_effects_explained(fake, node.database)
        self.assertEqual(
            node.database.sql("SELECT DISTINCT attempts FROM jobs"), [["1"]])
        self.assertEqual(
            node.database.sql("SELECT DISTINCT outcome FROM job_attempts"),
            [["interrupted"]])


class Waiting(FaultTest):

    def test_a_post_under_way_is_answered(self):
        node = self.start()
        thief = sqlite3.connect(node.database.path, isolation_level=None)
        self.addCleanup(thief.close)
        thief.execute("BEGIN IMMEDIATE")
        answers = []
        post = threading.Thread(target=lambda: answers.append(node.post(
            "/api/jobs", {"type": "CARD_ANALYSIS", "target_id": "waits"})))
        post.start()
        wait_until(lambda: any(
            x["name"] == "db" and x["state"] == "unresponsive"
            for x in node.get("/api/actors").json["actors"]),
            "the job to wait for its commit")
        node.signal(signal.SIGTERM)
        node.wait_for_log("supervisor.draining")
        thief.execute("ROLLBACK")
        self.assertEqual(node.wait(), 0)
        post.join(10)
        answer, = answers
        self.assertEqual(answer.status, 202, answer)
        self.assertEqual(node.database.sql("SELECT id FROM job"),
                         [[answer.json["id"]]])


if __name__ == "__main__":
    unittest.main()
