# tests/e2e/nodes.py -- what holds for several nodes on one PostgreSQL: limits,
# shares, and bundles of a node that dies.
import json
import os
import shutil
import tempfile
import unittest

from faults import FaultTest, wait_until
from harness import Database

# Notes when it runs, in a file that all nodes append to.
WORK = """
import os, sys, time
file = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
def note(what):
    os.write(file, f"{what} {os.environ['REEVE_JOB_ID']} {time.monotonic_ns()}\\n"
             .encode())
note("start")
time.sleep(float(sys.argv[2]))
note("end")
"""


class Nodes(FaultTest):

    store = "postgresql"

    def setUp(self):
        self.database = Database("postgresql", "")
        folder = tempfile.mkdtemp(prefix="reeve-nodes-")
        self.ledger = os.path.join(folder, "ledger")
        self.addCleanup(shutil.rmtree, folder)

    def start_named(self, name: str, seconds: float, **options):
        program = ["/usr/bin/python3", "-S", "-c", WORK, self.ledger,
                   str(seconds)]
        return self.start(None, {
            "node.name": name, "node.lease": "3s",
            "queue.recovery-interval": "200ms",
            "types.WORK.processor": "command",
            "types.WORK.command": json.dumps(program), **options},
            self.database)

    @staticmethod
    def add_jobs(node, count: int) -> list[str]:
        answer = node.post("/api/jobs/batch", {"jobs": [
            {"type": "WORK", "target_id": str(i)} for i in range(count)]})
        assert answer.status == 202, answer
        return [job["id"] for job in answer.json["jobs"]]

    def wait_until_done(self, count: int):
        wait_until(lambda: int(self.database.sql(
            "SELECT count(*) FROM jobs WHERE status = 'COMPLETED'"
        )[0][0]) == count, f"{count} completed jobs", timeout=120)

    def notes(self) -> list[tuple[str, str, int]]:
        with open(self.ledger) as file:
            return [(what, job, int(when)) for what, job, when in
                    (line.split() for line in file)]

    def test_a_type_that_another_node_resumes_goes_on(self):
        # Nothing but what nodes tell each other starts a job.
        here, there = (self.start_named(name, 0, **{
            "queue.poll-interval": "1h", "queue.recovery-interval": "1h"})
            for name in ("here", "there"))
        for round in range(1, 4):
            self.assertEqual(
                there.post("/api/types/WORK/pause", {"reason": "x"}).status,
                200)
            waiting = [here.post("/api/jobs", {
                "type": "WORK", "target_id": str(i)}).json["id"]
                for i in range(3)]
            self.assertEqual(
                {here.job(x)["status"] for x in waiting}, {"PENDING"})
            self.assertEqual(
                there.post("/api/types/WORK/resume").status, 200)
            waiting.append(here.post("/api/jobs", {
                "type": "WORK", "target_id": "late"}).json["id"])
            for job in waiting:
                self.assertEqual(here.wait_for_job(job)["status"],
                                 "COMPLETED")

    def test_a_limit_of_a_type_holds_on_all_nodes_together(self):
        limit = {"types.WORK.concurrency": 2, "queue.poll-interval": "100ms"}
        nodes = [self.start_named(name, 0.05, **limit)
                 for name in ("a", "b", "c")]
        jobs = self.add_jobs(nodes[0], 40)
        self.wait_until_done(len(jobs))
        running = most = 0
        for what, _, _ in sorted(self.notes(), key=lambda x: x[2]):
            running += 1 if what == "start" else -1
            most = max(most, running)
        self.assertEqual(most, 2)
        self.assertEqual(len(self.notes()), 2 * len(jobs))

    def finished(self, status: str) -> int:
        return int(self.database.sql("SELECT count(*) FROM jobs WHERE status "
                                     f"= '{status}'")[0][0])

    def test_a_node_that_dies_loses_nothing_of_its_bundles(self):
        nodes = {name: self.start_named(name, 0) for name in ("a", "b")}
        # Whose target is gone is FAILED within a millisecond or two.
        total = 0
        for victim in ("a", "b", "a", "b"):
            answer = nodes["a"].post("/api/jobs/batch", {"jobs": [
                {"type": "CARD_ANALYSIS", "target_id": "gone",
                 "max_attempts": 100} for _ in range(1000)]})
            self.assertEqual(answer.status, 202)
            total += 1000
            done = self.finished("FAILED")
            wait_until(lambda: self.finished("FAILED") > done, "some work")
            nodes[victim].kill9()
            nodes[victim].start()
        wait_until(lambda: self.finished("FAILED") == total, "all to end", 120)
        # One end each; whatever else happened to it was a death of its node,
        # or a slot that was too busy to begin it.
        self.assertEqual(self.database.sql(
            "SELECT j.seq FROM job j LEFT JOIN job_attempts a USING (seq) "
            "GROUP BY j.seq HAVING count(*) FILTER (WHERE a.decision = 'fail')"
            " <> 1 OR count(*) FILTER (WHERE a.decision <> 'fail' "
            "AND a.outcome NOT IN ('lost', 'interrupted')) > 0"), [])
        self.assertEqual(self.database.sql(
            "SELECT DISTINCT error_message FROM job"),
            [["Target data not found (Already deleted)"]])
        self.assert_invariants(self.database)

    def test_a_slow_job_takes_a_slot_of_its_own(self):
        node = self.start_named("a", 0, workers=2, **{
            "types.SLOW.processor": "command",
            "types.SLOW.command": '["/bin/sleep", "600"]'})
        slow = node.post("/api/jobs", {"type": "SLOW", "target_id": "t"}).json
        node.wait_for_job(slow["id"], "PROCESSING")
        answer = node.post("/api/jobs/batch", {"jobs": [
            {"type": "CARD_ANALYSIS", "target_id": "gone"}
            for _ in range(500)]})
        self.assertEqual(answer.status, 202)
        wait_until(lambda: self.finished("FAILED") == 500, "the short ones")
        self.assertEqual(node.job(slow["id"])["status"], "PROCESSING")
        self.assertEqual(node.post(f"/api/jobs/{slow['id']}/cancel").status,
                         200)
        self.assertEqual(node.wait_for_job(slow["id"])["status"], "CANCELLED")
        self.assert_invariants(self.database)


if __name__ == "__main__":
    unittest.main()
