# tests/e2e/supervision.py -- the tree of actors as /api/actors shows it.
import unittest

from faults import FaultTest, wait_until
from harness import both_stores

ALWAYS = ["supervisor", "event-hub", "db", "query", "recall", "embedder",
          "recovery", "scheduler", "gateway"]
FIELDS = {"name", "id", "parent", "state", "mailbox", "messages", "wait_seconds",
          "handling_seconds", "counts", "restarts", "restart_history",
          "restart_budget", "last_error", "uptime_seconds", "job_id",
          "job_type", "job_since", "commits", "lane"}


@both_stores
class Supervision(FaultTest):

    @staticmethod
    def actors(node) -> dict[str, dict]:
        return {x["name"]: x for x in node.get("/api/actors").json["actors"]}

    def test_idle_tree(self):
        node = self.start(options={"workers": 2})
        expected = {*ALWAYS, "job-1", "job-2", "executor-1", "executor-2"}
        if self.store == "postgresql":
            expected |= {"listener", "claimer"}
        answer = node.get("/api/actors").json
        self.assertEqual(answer["node"], "node-1")
        actors = {x["name"]: x for x in answer["actors"]}
        self.assertEqual(set(actors), expected)
        self.assertEqual(len(answer["actors"]), len(expected))
        self.assertEqual(len({x["id"] for x in actors.values()}),
                         len(expected))
        for name, actor in actors.items():
            self.assertEqual(set(actor), FIELDS, name)
            self.assertEqual(actor["parent"],
                             None if name == "supervisor" else
                             name.replace("executor", "job")
                             if name.startswith("executor") else "supervisor")
            self.assertNotIn(actor["state"], ("unresponsive", "degraded"))
            self.assertEqual(actor["restarts"], 0, name)
            self.assertIsNone(actor["last_error"], name)
            self.assertIsNone(actor["job_id"], name)
            self.assertGreaterEqual(actor["uptime_seconds"], 0)

    def test_running_jobs_stand_in_their_slots(self):
        fake = self.start_analysis()
        node = self.start(fake, {"workers": 3})
        fake.mode("hang", times=2)
        jobs = {node.add_scrap("Hangs.", title=title)["job_id"]
                for title in ("a", "b")}
        self.wait_for_call(fake, count=2)

        def slots():
            return [x for name, x in self.actors(node).items()
                    if name.startswith("job-")]
        busy = [x for x in slots() if x["job_id"]]
        self.assertEqual({x["job_id"] for x in busy}, jobs)
        self.assertEqual({x["state"] for x in busy}, {"running"})
        idle, = [x for x in slots() if not x["job_id"]]
        self.assertEqual(idle["state"], "idle")
        for job_id in jobs:
            self.assertEqual(node.post(f"/api/jobs/{job_id}/cancel").status,
                             200)
            self.assertEqual(node.wait_for_job(job_id)["status"],
                             "CANCELLED")
        wait_until(lambda: {x["state"] for x in slots()} == {"idle"},
                   "idle slots")
        self.assertEqual({x["job_id"] for x in slots()}, {None})
        self.assertEqual(sum(x["counts"]["runs"] for x in slots()), 2)
        self.assertEqual(sum(x["restarts"] for x in slots()), 0)

    def test_no_more_jobs_run_than_there_are_slots(self):
        fake = self.start_analysis(delay=0.2)
        node = self.start(fake, {"workers": 2})
        jobs = [node.add_scrap("Short.", title=f"t{i}")["job_id"]
                for i in range(8)]
        for job_id in jobs:
            self.assertEqual(node.wait_for_job(job_id)["status"], "COMPLETED")
        ends = [(call["time"], 1) for call in fake.calls()]
        ends += [(call["ended"], -1) for call in fake.calls()]
        running = most = 0
        for _, change in sorted(ends):
            running += change
            most = max(most, running)
        self.assertEqual(most, 2)


if __name__ == "__main__":
    unittest.main()
