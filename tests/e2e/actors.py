# tests/e2e/actors.py -- the figures of actors, their feed, and restarts that an
# operator asks for.
import sqlite3
import threading
import unittest

from faults import FaultTest, wait_until
from harness import both_stores, quote, time_in, time_of

# What an operator may restart at any time, in a node that calls no provider.
RESTARTABLE = ["event-hub", "query", "recall", "embedder", "recovery",
               "scheduler", "job-1", "job-2"]
TEXT = "A text that is analysed."


class ActorsTest(FaultTest):

    @staticmethod
    def actors(node) -> dict[str, dict]:
        answer = node.get("/api/actors")
        if answer.status != 200:
            raise AssertionError(answer)
        return {x["name"]: x for x in answer.json["actors"]}

    @staticmethod
    def restart(node, name: str, body=None):
        return node.post(f"/api/actors/{quote(name, safe='')}/restart", body)

    def hang_one(self, options: dict | None = None):
        """A node with one running job: the node, the fake, the job's id, the
        names of its job actor and its executor."""
        fake = self.start_analysis()
        node = self.start(fake, {"workers": 2, **(options or {})})
        fake.mode("hang", times=1)
        job_id = node.add_scrap(TEXT, title="t")["job_id"]
        self.wait_for_call(fake, "t")
        slot, executor = [x["name"] for x in self.actors(node).values()
                          if x["job_id"]]
        return node, fake, job_id, slot, executor


@both_stores
class Figures(ActorsTest):

    def test_every_instance_has_figures_of_its_own(self):
        node = self.start(options={"workers": 2})
        for i in range(5):
            made = node.add_scrap(f"Text number {i}.", title=f"t{i}")
            node.wait_for_job(made["job_id"], "COMPLETED")
        actors = self.actors(node)
        for name, actor in actors.items():
            for field in ("wait_seconds", "handling_seconds"):
                with self.subTest(name, field=field):
                    times = actor[field]
                    self.assertEqual(set(times),
                                     {"count", "p50", "p95", "p99"})
                    if times["count"] == 0:
                        self.assertIsNone(times["p50"])
                        continue
                    self.assertLessEqual(0, times["p50"])
                    self.assertLessEqual(times["p50"], times["p95"])
                    self.assertLessEqual(times["p95"], times["p99"])
            self.assertEqual(actor["messages"],
                             actor["handling_seconds"]["count"])
            budget = {"left": 5, "of": 5, "window_seconds": 60}
            self.assertEqual(actor["restart_budget"],
                             None if name in ("supervisor", "executor-1",
                                              "executor-2") else budget)
            self.assertEqual(actor["restart_history"], [])
        # An idle instance is not shown as busy as its sibling.
        runs = [actors[f"job-{i}"]["counts"]["runs"] for i in (1, 2)]
        self.assertEqual(sum(runs), 5)
        for i in (1, 2):
            if runs[i - 1] == 0:
                self.assertEqual(actors[f"executor-{i}"]["messages"], 0)
        self.assertGreater(actors["db"]["messages"], 10)

    def test_the_db_actor_tells_of_its_transactions(self):
        node = self.start()
        made = node.add_scrap("A text.")
        node.wait_for_job(made["job_id"], "COMPLETED")
        db = self.actors(node)["db"]
        commits = db["commits"]
        self.assertEqual(set(commits), {"batch", "seconds", "queue"})
        for name, figure in commits.items():
            with self.subTest(name):
                self.assertEqual(set(figure),
                                 {"count", "p50", "p95", "p99", "last"})
                self.assertLessEqual(figure["p50"], figure["p99"])
                self.assertGreater(figure["last"], 0)
        self.assertEqual(commits["batch"]["count"], db["counts"]["commits"])
        self.assertEqual(commits["seconds"]["count"],
                         db["counts"]["commits"])
        self.assertGreaterEqual(db["counts"]["writes"],
                                db["counts"]["commits"])
        others = [x for x in self.actors(node).values() if x["name"] != "db"]
        self.assertEqual({x["commits"] is None for x in others}, {True})

    def test_a_running_job_with_its_begin(self):
        node, fake, job_id, slot, executor = self.hang_one()
        job = node.job(job_id)
        actors = self.actors(node)
        self.assertEqual(executor, slot.replace("job", "executor"))
        for row in (actors[slot], actors[executor]):
            self.assertEqual((row["state"], row["job_id"], row["job_type"]),
                             ("running", job_id, "CARD_ANALYSIS"))
            begun = time_of(row["job_since"]) - time_of(job["started_at"])
            self.assertLess(abs(begun.total_seconds()), 5)
            self.assertLess(time_of(row["job_since"]),
                            time_of(time_in(0.01)))
        self.assertEqual(actors[executor]["parent"], slot)
        fake.mode("ok")
        node.post(f"/api/jobs/{job_id}/cancel")
        node.wait_for_job(job_id)

    def test_the_listener_says_whether_it_hears(self):
        node = self.start()
        actors = self.actors(node)
        if self.store == "sqlite":
            self.assertNotIn("listener", actors)
        else:
            # On a busy machine it may be at its connection yet.
            actor = wait_until(
                lambda: (x := self.actors(node)["listener"])["state"] ==
                "listening" and x, "the listener to listen")
            self.assertIn("announcements", actor["counts"])


@both_stores
class Restarts(ActorsTest):

    def test_the_job_of_a_restarted_job_actor_completes(self):
        node, fake, job_id, slot, _ = self.hang_one()
        before = self.actors(node)[slot]
        answer = self.restart(node, slot, {"reason": "it hangs"})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual((answer.json["name"], answer.json["restarts"]),
                         (slot, 1))
        job = node.wait_for_job(job_id, "COMPLETED")
        self.assertEqual(job["attempts"], 1)
        self.assertEqual(job["unspent"]["interrupted"], 1)
        run, = node.attempts(job_id)
        self.assertEqual(run["outcome"], "interrupted")
        self.assertEqual(run["error"],
                         "Its job actor was restarted by an operator")
        self.assertEqual(len(self.calls_of(fake, "t")), 2)
        after = self.actors(node)[slot]
        self.assertNotEqual(after["id"], before["id"])
        self.assertEqual(after["restarts"], 1)
        note, = after["restart_history"]
        self.assertEqual((note["reason"], note["by"]),
                         ("it hangs", "operator"))
        self.assertLess(time_of(note["at"]), time_of(time_in(0.01)))
        # It was nobody's fault.
        self.assertEqual(after["restart_budget"]["left"], 5)
        self.assert_invariants(node.database)

    def test_each_of_them_may_go_at_any_time(self):
        node = self.start(options={"workers": 2})
        names = RESTARTABLE + (["listener"] if self.store == "postgresql"
                               else [])
        jobs = [node.add_scrap(f"Text {i}.", title=f"a{i}")["job_id"]
                for i in range(10)]
        for name in names:
            answer = self.restart(node, name)
            self.assertEqual(answer.status, 200, answer)
            jobs.append(node.add_scrap(f"By {name}.", title=name)["job_id"])
        for job_id in jobs:
            job = node.wait_for_job(job_id)
            self.assertEqual((job["status"], job["attempts"]),
                             ("COMPLETED", 1))
        actors = self.actors(node)
        for name in names:
            self.assertEqual(actors[name]["restarts"], 1, name)
            wait_until(lambda: self.actors(node)[name]["state"] !=
                       "unresponsive", f"{name} to answer")
        self.assertEqual(node.get("/api/recall?q=text").status, 200)
        self.wait_for_quiet(node.database)
        self.assert_invariants(node.database)

    def test_what_cannot_be_restarted(self):
        node = self.start()
        for name, text in (("supervisor", "restart the node"),
                           ("db", "in doubt"),
                           ("gateway", "this very request"),
                           ("executor-1", "restart job-1")):
            with self.subTest(name):
                self.assert_problem(self.restart(node, name), 409, text)
        for name in ("nobody", "job-99", "executor-99", "DB", "gate:a/b",
                     "<script>", "\u00e9"):
            with self.subTest(name):
                self.assert_problem(self.restart(node, name), 404, name)
        for body, status in (({"why": "x"}, 400), ({"reason": 1}, 400),
                             ({"reason": "x" * 501}, 400), ([], 400)):
            self.assert_problem(self.restart(node, "query", body), status)
        self.assertEqual(node.get("/api/actors/query/restart").status, 405)
        self.assertEqual({x["restarts"] for x in self.actors(node).values()},
                         {0})


class Feed(ActorsTest):
    """/api/actors/events; nothing in it knows the store."""

    def test_the_whole_tree_comes_again_and_again(self):
        node = self.start(options={"workers": 2})
        with node.sse("/api/actors/events") as one, \
                node.sse("/api/actors/events") as two:
            self.assertEqual(one.headers["Content-Type"], "text/event-stream")
            seen = [one.next() for _ in range(3)]
            self.assertEqual({x.event for x in seen}, {"actors"})
            ids = [int(x.id) for x in seen]
            self.assertEqual(ids, sorted(set(ids)))
            for event in seen:
                self.assertEqual(set(event.data), {"node", "actors"})
                self.assertEqual(event.data["node"], "node-1")
                self.assertEqual({x["name"] for x in event.data["actors"]},
                                 set(self.actors(node)))
            # Both see the same pictures: all watchers cost what one does. One
            # that looks while the other asks may miss a picture, not many.
            pictures = {x.id: x.data for x in seen}

            def is_common(event):
                while max(map(int, pictures)) < int(event.id):
                    newer = one.next()
                    pictures[newer.id] = newer.data
                return event.id in pictures
            common = two.until(is_common)
            self.assertEqual(common.data, pictures[common.id])

    def test_a_restart_is_seen(self):
        node = self.start(options={"workers": 1})
        with node.sse("/api/actors/events") as feed:
            feed.next()
            self.restart(node, "job-1", {"reason": "to be seen"})

            def history(event):
                job, = [x for x in event.data["actors"]
                        if x["name"] == "job-1"]
                return [x["reason"] for x in job["restart_history"]]
            feed.until(lambda event: history(event) == ["to be seen"])

    def test_nobody_is_asked_when_nobody_watches(self):
        node = self.start()

        def messages():
            # Nobody else has anything to say to it.
            return self.actors(node)["embedder"]["messages"]
        with node.sse("/api/actors/events") as feed:
            feed.next()
            feed.next()
        wait_until(lambda: b"reeve_http_connections 1\n" in
                   node.get("/metrics").body
                   or b"reeve_http_connections 0\n" in
                   node.get("/metrics").body, "the stream to be closed")
        before = messages()
        # The counts are sent by the same alarms, once a second at most: with
        # the third change two intervals of the feed are over.
        with node.sse("/api/stats/events") as counts:
            for number in (1, 2, 3):
                node.add_job(run_at=time_in(3600))
                counts.until(
                    lambda event: event.event == "stats" and
                    event.data["by_type"].get("CARD_ANALYSIS", {}).get(
                        "PENDING", 0) >= number)
        self.assertEqual(messages(), before + 1)

    def test_a_drain_ends_it(self):
        node = self.start()
        with node.sse("/api/actors/events") as feed:
            feed.next()
            self.assertEqual(node.terminate(), 0)
            while (event := feed.next()) is not None:
                self.assertIn(event.event, ("actors", None))


class Hung(ActorsTest):

    def test_a_db_actor_that_waits_for_a_lock(self):
        node = self.start()
        thief = sqlite3.connect(node.database.path, isolation_level=None)
        self.addCleanup(thief.close)
        thief.execute("BEGIN IMMEDIATE")
        post = threading.Thread(target=node.add_scrap, args=("Waits.",))
        post.start()
        hung = wait_until(
            lambda: (db := self.actors(node)["db"])["state"] ==
            "unresponsive" and db, "an unresponsive db actor")
        # What is seen from outside.
        self.assertGreater(hung["mailbox"], 0)
        self.assertGreater(hung["messages"], 0)
        self.assertGreater(hung["uptime_seconds"], 0)
        self.assertIsNone(hung["commits"])
        others = [x for x in self.actors(node).values() if x["name"] != "db"]
        self.assertNotIn("unresponsive", {x["state"] for x in others})
        thief.execute("ROLLBACK")
        post.join(30)
        wait_until(lambda: self.actors(node)["db"]["state"] == "idle",
                   "the db actor to answer again")


class HungReader(ActorsTest):
    store = "postgresql"

    def test_a_hung_query_actor_is_replaced(self):
        node = self.start()
        database = node.database
        thief = threading.Thread(target=self.hold_lock, args=(database,))
        thief.start()
        self.addCleanup(thief.join, 30)
        self.addCleanup(self.free_lock, database)
        wait_until(lambda: database.sql(
            "SELECT 1 FROM pg_locks WHERE mode = 'AccessExclusiveLock' "
            "AND relation = 'reeve.scraps'::regclass AND granted"),
            "the lock")
        reader = threading.Thread(target=node.get, args=(
            "/api/scraps/00000000-0000-7000-8000-000000000000",))
        reader.start()
        self.addCleanup(reader.join, 30)
        wait_until(lambda: self.actors(node)["query"]["state"] ==
                   "unresponsive", "an unresponsive query actor")
        answer = self.restart(node, "query", {"reason": "a lock"})
        self.assertEqual(answer.status, 200, answer)
        # The lock is still held, but this needs none.
        self.assertEqual(node.get("/api/stats").status, 200)
        query = self.actors(node)["query"]
        self.assertEqual((query["state"], query["restarts"]), ("idle", 1))
        self.free_lock(database)
        wait_until(lambda: node.get(
            "/api/scraps/00000000-0000-7000-8000-000000000000").status == 404,
            "reads of scraps")

    @staticmethod
    def hold_lock(database):
        try:
            database.sql("BEGIN; LOCK TABLE reeve.scraps IN ACCESS EXCLUSIVE "
                         "MODE; SELECT pg_sleep(60)")
        except AssertionError:
            # Its session was ended.
            pass

    @staticmethod
    def free_lock(database):
        database.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                     "WHERE query LIKE '%pg_sleep(60)%' "
                     "AND pid <> pg_backend_pid()")


if __name__ == "__main__":
    unittest.main()
