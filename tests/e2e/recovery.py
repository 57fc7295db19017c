# tests/e2e/recovery.py -- kill -9, and what the next start or another node
# makes of it.
import os
import random
import signal
import time
import unittest

from faults import FaultTest, Load, wait_until
from harness import Database, both_stores, run_reeve


@both_stores
class Killed(FaultTest):
    """One node, killed and started again under the same name."""

    def test_job_in_the_middle_runs_again_at_once(self):
        fake = self.start_analysis()
        node = self.start(fake, {"node.lease": "30s"})
        fake.mode("hang", times=1)
        job_id = node.add_scrap("The node dies here.", title="t")["job_id"]
        self.wait_for_call(fake, "t")
        self.assertEqual(node.job(job_id)["status"], "PROCESSING")
        node.kill9()
        killed_at = time.monotonic()
        node.start()
        job = node.wait_for_job(job_id)
        # Neither the lease (30 s) nor a backoff (10 s) was waited for.
        self.assertLess(time.monotonic() - killed_at, 9)
        self.assertEqual(job["status"], "COMPLETED")
        self.assertEqual(job["attempts"], 2)
        self.assertEqual(job["progress"]["percent"], 100)
        self.assertIsNone(job["error_message"])
        self.assertEqual(len(self.calls_of(fake, "t")), 2)
        lost, = node.attempts(job_id)
        self.assertEqual(
            (lost["run"], lost["node"], lost["outcome"], lost["decision"]),
            (1, "node-1", "lost", "retry"))
        self.assertEqual(lost["error"], "node node-1 died while it ran the job")
        self.assertIsNotNone(lost["next_run_at"])
        self.assert_invariants(node.database)

    def test_job_that_kills_its_node_three_times_is_poison(self):
        fake = self.start_analysis()
        node = self.start(fake)
        fake.mode("hang")
        job_id = node.add_scrap("Poison.", title="poison")["job_id"]
        for death in (1, 2, 3):
            self.wait_for_call(fake, "poison", death)
            node.kill9()
            node.start()
        job = node.wait_for_job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("FAILED", 3))
        self.assertIn("died 3 times", job["error_message"])
        self.assertEqual([(x["outcome"], x["decision"])
                          for x in node.attempts(job_id)],
                         [("lost", "retry"), ("lost", "retry"),
                          ("lost", "fail")])
        # It harms nobody any more, and the node works.
        fake.mode("ok")
        other = node.add_scrap("Healthy.", title="healthy")["job_id"]
        self.assertEqual(node.wait_for_job(other)["status"], "COMPLETED")
        self.assertEqual(len(self.calls_of(fake, "poison")), 3)
        self.assert_invariants(node.database)

    def test_cancel_that_the_node_did_not_survive(self):
        fake = self.start_analysis()
        node = self.start(fake)
        fake.mode("hang")
        job_id = node.add_scrap("Cancelled.", title="t")["job_id"]
        self.wait_for_call(fake, "t")
        node.kill9()
        # What a cancel that was committed, and no more, leaves behind.
        node.database.sql("UPDATE running SET cancel_requested = "
                          + ("1" if self.store == "sqlite" else "true"))
        node.start()
        self.assertEqual(node.wait_for_job(job_id)["status"], "CANCELLED")
        self.assertEqual(len(self.calls_of(fake, "t")), 1)
        self.assert_invariants(node.database)

    def test_random_kills_under_load(self):
        seed = int(os.environ.get("REEVE_TEST_SEED")
                   or random.randrange(1 << 32))
        print(f"{self.id()}: REEVE_TEST_SEED={seed}", flush=True)
        chance = random.Random(seed)
        cycles, backlog, each = 30, 150, 25
        fake = self.start_analysis(delay=0.02)
        node = self.start(fake, {
            "workers": 4,
            # Any one of them may be unlucky more than twice.
            "types.CARD_ANALYSIS.max-attempts": 100})
        load = Load(node, target=backlog + cycles * each)
        self.addCleanup(load.stop)
        load.allow(backlog)
        wait_until(lambda: len(load.accepted) >= backlog, "the backlog")
        for _ in range(cycles):
            load.allow(each)
            # The moment is what is tested, hence no event to wait for.
            time.sleep(chance.uniform(0, 0.4))
            node.kill9()
            self.assert_invariants(node.database)
            node.start()
        load.finish()
        self.wait_for_quiet(node.database)
        self.assert_accepted_completed(load, node.database)
        self.assert_invariants(node.database)
        self.assert_effects_explained(fake, node.database)
        lost = node.database.sql("SELECT count(*) FROM job_attempts "
                                 "WHERE outcome = 'lost'")[0][0]
        others = node.database.sql("SELECT * FROM job_attempts "
                                   "WHERE outcome <> 'lost'")
        self.assertEqual(others, [])
        self.assertGreater(int(lost), 0, "no kill hit a running job")
        print(f"{self.id()}: {len(load.accepted)} accepted, "
              f"{load.doubtful} in doubt, {lost} runs lost", flush=True)


class OneFile(FaultTest):

    store = "sqlite"

    def test_second_node_on_a_file_is_refused(self):
        node = self.start()
        refused = run_reeve("serve", "--http.port=0", "--node.name=other",
                            "--database.url=" + node.database.url)
        self.assertEqual(refused.returncode, 2)
        self.assertEqual(refused.stdout, "")
        self.assertIn("another node", refused.stderr)
        self.assertEqual(node.get("/readyz").status, 200)


class Nodes(FaultTest):
    """Several nodes on one PostgreSQL."""

    store = "postgresql"

    def setUp(self):
        self.fake = self.start_analysis()
        self.database = Database("postgresql", "")

    def start_named(self, name: str, options: dict | None = None):
        return self.start(self.fake, {
            "node.name": name, "queue.recovery-interval": "200ms",
            **(options or {})}, self.database)

    def test_another_node_takes_over_after_the_lease(self):
        lease = 3
        first = self.start_named("first", {"node.lease": f"{lease}s"})
        self.fake.mode("hang", times=1)
        job_id = first.add_scrap("Inherited.", title="t")["job_id"]
        self.wait_for_call(self.fake, "t")
        second = self.start_named("second", {"node.lease": f"{lease}s"})
        # Held leases are renewed: three sweeps and more take nothing.
        held = second.wait_for_job(job_id, "PROCESSING")
        wait_until(lambda: self.database.sql(
            f"SELECT 1 FROM running WHERE lease_until > reeve.instant("
            f"reeve.micros('{held['started_at']}')) + interval "
            f"'{lease + 1} s'"), "a renewed lease")
        self.assertEqual(second.job(job_id)["attempts"], 1)
        until = self.database.sql(
            "SELECT extract(epoch FROM lease_until) FROM running")[0][0]
        first.kill9()
        job = second.wait_for_job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 2))
        lost, = second.attempts(job_id)
        self.assertEqual((lost["node"], lost["outcome"], lost["decision"]),
                         ("first", "lost", "retry"))
        ended = self.database.sql(
            "SELECT extract(epoch FROM finished_at) FROM job_attempts")[0][0]
        # Not before the lease is over, and not much later.
        self.assertGreaterEqual(float(ended), float(until))
        self.assertLess(float(ended), float(until) + lease + 2)
        self.assertEqual(len(self.calls_of(self.fake, "t")), 2)
        self.assert_invariants(self.database)

    def test_late_result_of_a_paused_node_is_fenced(self):
        options = {"node.lease": "1s"}
        first = self.start_named("first", options)
        self.fake.mode("ok;delay=1", times=1)
        job_id = first.add_scrap("Paused.", title="t")["job_id"]
        self.wait_for_call(self.fake, "t")
        first.signal(signal.SIGSTOP)
        second = self.start_named("second", options)
        job = second.wait_for_job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 2))
        first.signal(signal.SIGCONT)
        # The answer has waited in the socket; what follows touches nothing.
        wait_until(lambda: self.fenced(first) == 1, "the fenced write")
        self.assertEqual(first.job(job_id), job)
        lost, = first.attempts(job_id)
        self.assertEqual((lost["node"], lost["outcome"]), ("first", "lost"))
        self.assertEqual(self.database.sql("SELECT id FROM knowledge_cards"),
                         [[job["result"]["card_id"]]])
        self.assert_invariants(self.database)
        # The slot is free, and the node goes on.
        second.kill9()
        again = first.add_scrap("Works.", title="works")["job_id"]
        self.assertEqual(first.wait_for_job(again)["status"], "COMPLETED")

    @staticmethod
    def fenced(node) -> int:
        lines = node.get("/metrics").body.decode().splitlines()
        return sum(int(float(line.split()[1])) for line in lines
                   if line.startswith("reeve_jobs_fenced"))

    def test_many_nodes_start_on_an_empty_database(self):
        nodes = [self.start_node(
            {"node.name": f"n{i}", **self.fake.options},
            database=self.database, start=False) for i in range(4)]
        for node in nodes:
            node.launch()
        for node in nodes:
            node.wait_until_listening()
        self.assertEqual(
            sum("store.migrated" in node.log for node in nodes), 1)
        for node in nodes:
            job_id = node.add_scrap("Works.")["job_id"]
            self.assertEqual(node.wait_for_job(job_id)["status"], "COMPLETED")
        self.assert_invariants(self.database)

    def test_second_node_of_a_name_is_refused(self):
        first = self.start_named("twin")
        self.fake.mode("hang", times=1)
        job_id = first.add_scrap("Mine.", title="t")["job_id"]
        self.wait_for_call(self.fake, "t")
        refused = run_reeve("serve", "--http.port=0", "--node.name=twin",
                            "--database.url=" + self.database.url)
        self.assertEqual(refused.returncode, 2)
        self.assertEqual(refused.stdout, "")
        self.assertIn("another node named 'twin' is running", refused.stderr)
        # It has taken nothing away.
        self.assertEqual(first.job(job_id)["status"], "PROCESSING")
        self.assertEqual(first.attempts(job_id), [])

    def test_sql_enqueue_wakes_an_idle_node(self):
        node = self.start_named("idle", {"queue.poll-interval": "60s"})
        wait_until(lambda: self.listening(node), "the listener")
        began = time.monotonic()
        job_id = self.database.sql(
            "SELECT reeve.enqueue('CARD_ANALYSIS', 'gone', '{\"a\": 1}')")[0][0]
        job = node.wait_for_job(job_id)
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(job["error_message"],
                         "Target data not found (Already deleted)")
        self.assertEqual(job["payload"], {"a": 1})

    @staticmethod
    def listening(node) -> bool:
        return any(x["name"] == "listener" and x["state"] == "listening"
                   for x in node.get("/api/actors").json["actors"])

    def test_enqueue_at_one_node_wakes_another(self):
        busy = self.start_named("busy", {"workers": 1,
                                         "queue.poll-interval": "60s"})
        self.fake.mode("hang", times=1)
        hanging = busy.add_scrap("Occupies the slot.", title="first")
        self.wait_for_call(self.fake, "first")
        idle = self.start_named("idle", {"queue.poll-interval": "60s"})
        wait_until(lambda: self.listening(idle), "the listener")
        began = time.monotonic()
        job_id = busy.add_scrap("For the other.", title="second")["job_id"]
        # A watcher at the node that did not run it sees the change, too.
        with busy.sse(f"/api/jobs/{job_id}/events") as stream:
            seen = list(stream)
        self.assertLess(time.monotonic() - began, 5)
        self.assertEqual(seen[-1].data["status"], "COMPLETED")
        versions = [int(event.id) for event in seen]
        self.assertEqual(versions, sorted(set(versions)))
        self.assertEqual(seen[-1].data, idle.job(job_id))
        # And so does a long poll, here of the other node's job.
        etag = idle.get("/api/jobs/" + hanging["job_id"]).headers["ETag"]
        self.assertEqual(
            busy.post(f"/api/jobs/{hanging['job_id']}/cancel").status, 200)
        job = idle.wait_for_job(hanging["job_id"])
        self.assertEqual(job["status"], "CANCELLED")
        self.assertNotEqual(etag, f'"{job["version"]}"')

    def test_cancel_at_another_node_reaches_the_run(self):
        runs = self.start_named("runs", {"node.lease": "3s"})
        self.fake.mode("hang", times=1)
        job_id = runs.add_scrap("Stop me.", title="t")["job_id"]
        self.wait_for_call(self.fake, "t")
        asks = self.start_named("asks", {"node.lease": "3s"})
        self.assertEqual(asks.post(f"/api/jobs/{job_id}/cancel").status, 200)
        # It travels with the next renewal of the leases, every second here.
        job = asks.wait_for_job(job_id, timeout=10)
        self.assertEqual((job["status"], job["attempts"]), ("CANCELLED", 1))
        self.assert_invariants(self.database)

    def test_kills_of_two_nodes_under_load(self):
        seed = int(os.environ.get("REEVE_TEST_SEED")
                   or random.randrange(1 << 32))
        print(f"{self.id()}: REEVE_TEST_SEED={seed}", flush=True)
        chance = random.Random(seed)
        options = {"node.lease": "2s",
                   "types.CARD_ANALYSIS.max-attempts": 100}
        nodes = [self.start_named(name, options) for name in ("a", "b")]
        loads = [Load(node, target=150, threads=2) for node in nodes]
        for load in loads:
            self.addCleanup(load.stop)
            load.allow(75)
        for _ in range(8):
            victim = chance.choice(nodes)
            time.sleep(chance.uniform(0, 0.3))
            victim.kill9()
            time.sleep(chance.uniform(0, 0.3))
            victim.start()
        for load in loads:
            load.finish()
        self.wait_for_quiet(self.database)
        loads[0].accepted.update(loads[1].accepted)
        loads[0].doubtful += loads[1].doubtful
        self.assert_accepted_completed(loads[0], self.database)
        self.assert_invariants(self.database)


if __name__ == "__main__":
    unittest.main()
