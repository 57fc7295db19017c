# tests/e2e/outage.py -- the database goes away and comes back, and the node
# stays.
import os
import signal
import sqlite3
import time
import unittest

from faults import FaultTest, Load, wait_until
from harness import Database, run_reeve


class PostgresAway(FaultTest):

    store = "postgresql"

    def setUp(self):
        self.fake = self.start_analysis()
        self.database = Database("postgresql", "")
        self.server = self.database.server

    def tearDown(self):
        # A failed test must not leave the server down for the next.
        if self.server._process is None:
            self.server.start()

    def start_here(self, options: dict | None = None):
        return self.start(self.fake, {"http.answer-timeout": "2s",
                                      **(options or {})}, self.database)

    def wait_until_ready(self, node):
        wait_until(lambda: node.get("/readyz").status == 200,
                   "the node to be ready")

    def test_cut_sessions_under_load(self):
        node = self.start_here({"workers": 4})
        load = Load(node, target=400)
        self.addCleanup(load.stop)
        cuts = 0
        for cut in range(1, 13):
            load.allow(25)
            wait_until(lambda: len(load.accepted) >= 20 * cut, "the load")
            cuts += self.server.terminate_backends(self.database.name)
        load.finish()
        self.assertGreater(cuts, 12)
        self.wait_for_quiet(self.database)
        self.assert_accepted_completed(load, self.database)
        self.assert_invariants(self.database)
        self.assert_effects_explained(self.fake, self.database)
        # A cut is nobody's fault and ends no run.
        self.assertEqual(self.database.sql("SELECT * FROM job_attempts"), [])
        self.assertEqual(self.restarts(node), {})

    def test_cut_sessions_leave_running_jobs_alone(self):
        node = self.start_here()
        self.fake.mode("ok;delay=1.5", times=3)
        jobs = [node.add_scrap("Runs on.", title=f"t{i}")["job_id"]
                for i in range(3)]
        self.wait_for_call(self.fake, count=3)
        self.assertGreater(
            self.server.terminate_backends(self.database.name), 0)
        for job_id in jobs:
            job = node.wait_for_job(job_id)
            self.assertEqual((job["status"], job["attempts"]),
                             ("COMPLETED", 1))
            self.assertEqual(node.attempts(job_id), [])
        self.assertEqual(len(self.fake.calls()), 3)
        self.assert_invariants(self.database)

    def test_name_stays_taken_after_a_cut(self):
        node = self.start_here({"node.name": "twin"})
        self.fake.mode("hang")
        job_id = node.add_scrap("Mine.", title="t")["job_id"]
        self.wait_for_call(self.fake, "t")
        self.server.terminate_backends(self.database.name)
        wait_until(lambda: self.server.sql(
            "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'",
            self.database.name), "the node to take its name again", 10)
        refused = run_reeve("serve", "--http.port=0", "--node.name=twin",
                            "--database.url=" + self.database.url)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertEqual(node.job(job_id)["status"], "PROCESSING")

    def test_stopped_server(self):
        node = self.start_here({"node.lease": "30s"})
        self.fake.mode("ok;delay=2", times=1)
        job_id = node.add_scrap("Runs on.", title="t")["job_id"]
        self.wait_for_call(self.fake, "t")
        self.server.stop()
        # Nobody may have noticed yet: the first may be in doubt.
        self.assert_unavailable(
            node.post("/api/scraps", {"content": "Lost?", "title": "doubt"}),
            "store_unavailable", "outcome_unknown")
        for _ in range(3):
            began = time.monotonic()
            self.assert_unavailable(
                node.post("/api/scraps", {"content": "No.", "title": "no"}),
                "store_unavailable")
            self.assertLess(time.monotonic() - began, 1)
        self.assert_unavailable(node.get("/api/jobs/" + job_id),
                                "store_unavailable")
        self.assert_unavailable(node.get("/api/jobs"), "store_unavailable")
        self.assert_unavailable(node.get("/readyz"), "store_unavailable")
        self.assertEqual(node.get("/healthz").status, 200)
        self.assertEqual(node.get("/metrics").status, 200)
        wait_until(lambda: self.calls_of(self.fake, "t")[0]["ended"],
                   "the call to end while the database is away")
        db = self.actor(node, "db")
        self.assertEqual(db["state"], "away")
        self.assertIsNotNone(db["last_error"])
        self.server.start()
        self.wait_until_ready(node)
        job = node.wait_for_job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 1))
        self.assertEqual(node.attempts(job_id), [])
        # The write in doubt happened once or not at all, the refused never.
        self.wait_for_quiet(self.database)
        titles = [row[0] for row in
                  self.database.sql("SELECT title FROM scraps")]
        self.assertLessEqual(set(titles), {"t", "doubt"})
        self.assertEqual(len(titles), len(set(titles)))
        self.assertEqual(len(self.calls_of(self.fake, "t")), 1)
        self.assertEqual(self.restarts(node), {})
        self.assert_invariants(self.database)

    def test_outage_longer_than_the_lease(self):
        node = self.start_here({"node.lease": "1s",
                                "queue.recovery-interval": "100ms"})
        self.fake.mode("ok;delay=3", times=1)
        job_id = node.add_scrap("Runs on.", title="t")["job_id"]
        self.wait_for_call(self.fake, "t")
        self.server.stop()
        until = time.monotonic() + 2
        wait_until(lambda: time.monotonic() > until, "the lease to expire")
        self.server.start()
        # Nobody else wants it: it is still this node's own.
        job = node.wait_for_job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 1))
        self.assertEqual(node.attempts(job_id), [])
        self.assertEqual(len(self.calls_of(self.fake, "t")), 1)
        self.assert_invariants(self.database)

    def test_frozen_server(self):
        node = self.start_here()
        self.fake.mode("ok;delay=1", times=1)
        job_id = node.add_scrap("Runs on.", title="t")["job_id"]
        self.wait_for_call(self.fake, "t")
        frozen = [int(row[0]) for row in self.database.sql(
            "SELECT pid FROM pg_stat_activity WHERE datname = '"
            + self.database.name + "' AND pid <> pg_backend_pid()")]
        for pid in frozen:
            os.kill(pid, signal.SIGSTOP)
        try:
            answer = node.post("/api/scraps",
                               {"content": "In doubt.", "title": "doubt"})
            self.assert_unavailable(answer, "outcome_unknown")
            self.assertEqual(node.get("/readyz").status, 503)
            self.assertEqual(node.get("/healthz").status, 200)
            # Whoever waits for the server is shown, not waited for.
            self.assertEqual(self.actor(node, "db")["state"], "unresponsive")
        finally:
            for pid in frozen:
                os.kill(pid, signal.SIGCONT)
        job = node.wait_for_job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 1))
        self.wait_for_quiet(self.database)
        self.assertLessEqual(len(self.calls_of(self.fake, "doubt")), 1)
        self.assertEqual(self.restarts(node), {})
        self.assert_invariants(self.database)

    def test_read_only_server(self):
        node = self.start_here()
        self.alter("SET default_transaction_read_only = on")
        wait_until(lambda: node.post(
            "/api/scraps", {"content": "No.", "title": "no"}
        ).json.get("type", "").endswith("store_unavailable"),
            "a write to be refused")
        self.alter("RESET default_transaction_read_only")
        wait_until(lambda: node.post(
            "/api/scraps", {"content": "Yes.", "title": "yes"}
        ).status == 200, "a write to be accepted")
        self.wait_for_quiet(self.database)
        self.assert_invariants(self.database)

    def alter(self, what: str):
        """Changes a setting of the database for new sessions only."""
        self.server.sql(f"ALTER DATABASE {self.database.name} {what}")
        self.server.terminate_backends(self.database.name)

    def test_announcements_are_heard_again_after_a_restart(self):
        node = self.start_here({"queue.poll-interval": "60s"})
        self.server.restart()
        self.wait_until_ready(node)
        wait_until(lambda: self.actor(node, "listener")["state"] ==
                   "listening", "the listener")
        began = time.monotonic()
        job_id = self.database.sql(
            "SELECT reeve.enqueue('CARD_ANALYSIS', 'gone')")[0][0]
        self.assertEqual(node.wait_for_job(job_id)["status"], "FAILED")
        self.assertLess(time.monotonic() - began, 5)

    def test_restarts_under_load(self):
        node = self.start_here({"workers": 4})
        load = Load(node, target=300)
        self.addCleanup(load.stop)
        for restart in range(1, 6):
            load.allow(40)
            wait_until(lambda: len(load.accepted) >= 30 * restart, "the load")
            self.server.restart(immediate=restart % 2 == 1)
        load.finish()
        self.wait_for_quiet(self.database)
        self.assert_accepted_completed(load, self.database)
        self.assert_invariants(self.database)
        self.assert_effects_explained(self.fake, self.database)
        self.assertEqual(self.database.sql("SELECT * FROM job_attempts"), [])
        self.assertEqual(self.restarts(node), {})

    def test_stream_outlives_the_database(self):
        node = self.start_here()
        self.fake.mode("ok;delay=1", times=1)
        job_id = node.add_scrap("Watched.", title="t")["job_id"]
        self.wait_for_call(self.fake, "t")
        with node.sse(f"/api/jobs/{job_id}/events") as stream:
            self.assertEqual(stream.next().data["status"], "PROCESSING")
            self.server.stop()
            wait_until(lambda: self.calls_of(self.fake, "t")[0]["ended"],
                       "the call to end")
            self.server.start()
            self.assertEqual(list(stream)[-1].data["status"], "COMPLETED")

    def test_drain_without_a_database(self):
        node = self.start_here({"shutdown-grace": "500ms"})
        self.fake.mode("hang", times=1)
        job_id = node.add_scrap("Hangs.", title="t")["job_id"]
        self.wait_for_call(self.fake, "t")
        self.server.stop()
        node.signal(signal.SIGTERM)
        # It says that something was left undone.
        self.assertEqual(node.wait(20), 1)
        self.server.start()
        node.start()
        job = node.wait_for_job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 2))
        self.assertEqual(node.attempts(job_id)[0]["outcome"], "lost")
        self.assert_invariants(self.database)

    def test_start_without_a_database(self):
        node = self.start_here()
        self.assertEqual(node.terminate(), 0)
        self.server.stop()
        node.launch()
        node.wait_for_log("store.unavailable")
        self.server.start()
        node.wait_until_listening()
        self.assertEqual(node.get("/readyz").status, 200)

    def test_signal_while_it_waits_for_the_server(self):
        node = self.start_here()
        self.assertEqual(node.terminate(), 0)
        self.server.stop()
        node.launch()
        node.wait_for_log("store.unavailable")
        node.signal(signal.SIGTERM)
        # It has begun nothing that would have to be ended in order.
        self.assertEqual(node.wait(5), -signal.SIGTERM)

    def test_signal_while_it_waits_for_recovery(self):
        node = self.start_here()
        self.assertEqual(node.terminate(), 0)
        self.alter("SET default_transaction_read_only = on")
        node.launch()
        node.wait_for_log("db.connection-lost")
        self.assertEqual(node.terminate(5), 0)
        self.assertNotIn("listening", node.stdout)
        self.alter("RESET default_transaction_read_only")
        node.start()
        self.assertEqual(node.get("/readyz").status, 200)

    @staticmethod
    def actor(node, name: str) -> dict:
        return next(x for x in node.get("/api/actors").json["actors"]
                    if x["name"] == name)

    @staticmethod
    def restarts(node) -> dict:
        """An outage is a state: nobody dies of it."""
        return {x["name"]: x["last_error"] for x in
                node.get("/api/actors").json["actors"] if x["restarts"]}


class SqliteLocked(FaultTest):
    """Another process holds the write lock for longer than the node waits."""

    store = "sqlite"

    def test_writes_wait_and_nothing_is_lost(self):
        fake = self.start_analysis()
        node = self.start(fake, {"http.answer-timeout": "1s"})
        fake.mode("ok;delay=1", times=1)
        job_id = node.add_scrap("Runs on.", title="t")["job_id"]
        self.wait_for_call(fake, "t")
        thief = sqlite3.connect(node.database.path, isolation_level=None)
        self.addCleanup(thief.close)
        thief.execute("BEGIN IMMEDIATE")
        # The first waits for the lock and is in doubt; once the node has given
        # up, the others are refused at once.
        self.assert_unavailable(
            node.post("/api/scraps", {"content": "Late.", "title": "doubt"}),
            "outcome_unknown", "store_unavailable")

        def refused():
            answer = node.post("/api/scraps",
                               {"content": "No.", "title": "doubt too"})
            self.assertIn(answer.status, (503,), answer)
            return answer.json["type"].endswith("store_unavailable")
        wait_until(refused, "a write to be refused", 20)
        # WAL: readers do not care.
        self.assertEqual(node.job(job_id)["status"], "PROCESSING")
        thief.execute("ROLLBACK")
        job = node.wait_for_job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 1))
        self.assertEqual(node.attempts(job_id), [])
        wait_until(lambda: node.post(
            "/api/scraps", {"content": "Yes.", "title": "later"}
        ).status == 200, "a write to be accepted")
        self.wait_for_quiet(node.database)
        self.assertEqual(len(self.calls_of(fake, "t")), 1)
        doubtful = node.database.sql(
            "SELECT title FROM scraps WHERE title = 'doubt'")
        self.assertLessEqual(len(doubtful), 1)
        self.assert_invariants(node.database)


if __name__ == "__main__":
    unittest.main()
