# tests/e2e/failures.py -- failures in groups, bulk retries, pauses, and why a
# job does not run.
import unittest

from faults import wait_until
from harness import NodeTest, both_stores, quote, run_reeve, time_in, time_of

NO_ID = "00000000-0000-7000-8000-000000000000"
GONE = "Target data not found (Already deleted)"


class FailureTest(NodeTest):
    """Each test has a node of its own, with one failure message a scrap."""

    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        self.fake = self.start_analysis()
        self.node = self.start_node(self.fake.options)

    def fail_with(self, detail: str, **fields) -> str:
        """A job that is FAILED with `detail` in its message; its id."""
        content = f"!fault http:400;detail={quote(detail, safe='')}\nText."
        job_id = self.node.add_scrap(content, **fields)["job_id"]
        job = self.node.wait_for_job(job_id)
        self.assertEqual(job["status"], "FAILED", job)
        self.assertIn(detail, job["error_message"])
        return job_id

    def bulk(self, expected: int = 200, headers=None, **fields):
        answer = self.node.post("/api/jobs/retry",
                                {"status": "FAILED", **fields}, headers)
        self.assertEqual(answer.status, expected, answer)
        return answer.json

    def settle(self, job_ids):
        for job_id in job_ids:
            self.node.wait_for_job(job_id)

    def errors(self, query: str = "") -> list:
        return self.node.get("/api/errors" + query).json["errors"]


@both_stores
class Groups(FailureTest):
    def test_failures_that_differ_in_numbers_are_one_group(self):
        self.assertEqual(self.errors(), [])
        first = [self.fail_with(f"quota of key {n} is spent: {n * 7} of 100")
                 for n in range(1, 4)]
        other = self.fail_with("the text has no language")
        newest, oldest = self.errors()
        self.assertEqual(set(newest), {
            "fingerprint", "pattern", "count", "types", "first_seen",
            "last_seen", "example"})
        self.assertEqual((newest["count"], newest["example"]["job_id"]),
                         (1, other))
        self.assertEqual(
            (oldest["count"], oldest["types"], oldest["example"]["job_id"]),
            (3, ["CARD_ANALYSIS"], first[-1]))
        self.assertNotIn("21", oldest["pattern"])
        self.assertIn("21 of 100", oldest["example"]["error_message"])
        times = [time_of(self.node.job(x)["finished_at"]) for x in first]
        self.assertEqual((time_of(oldest["first_seen"]),
                          time_of(oldest["last_seen"])),
                         (times[0], times[-1]))
        self.assertEqual(self.errors("?limit=1"), [newest])
        self.assertEqual(self.errors("?type=CARD_ANALYSIS"), [newest, oldest])
        self.assertEqual(self.errors("?type=card_analysis"), [])
        self.assertEqual(self.errors("?from=" + time_in(60)), [])
        self.assertEqual(self.errors("?to=" + time_in(-60)), [])
        self.assertEqual(len(self.errors(f"?from={time_in(-60)}&to="
                                         + time_in(60))), 2)
        for wrong in ("?limit=0", "?limit=x", "?from=yesterday", "?x=1",
                      f"?from={time_in(1)}&to={time_in(0)}"):
            self.assert_problem(self.node.get("/api/errors" + wrong), 400)
        # What is retried has not failed any more.
        self.node.post("/api/types/CARD_ANALYSIS/pause")
        self.bulk(fingerprint=newest["fingerprint"])
        self.assertEqual(self.errors(), [oldest])


@both_stores
class BulkRetry(FailureTest):
    def test_a_dry_run_changes_nothing(self):
        ids = [self.fail_with(f"overloaded, request {n}") for n in range(12)]
        self.fail_with("something else")
        before = [self.node.job(x) for x in ids]
        found = self.bulk(error_like="%overloaded%", dry_run=True)
        self.assertEqual(set(found), {"matched", "retried", "passed_over",
                                      "sample"})
        self.assertEqual((found["matched"], found["retried"]), (12, 0))
        self.assertEqual(len(found["sample"]), 10)
        self.assertEqual(set(found["sample"][0]),
                         {"id", "type", "error_message", "finished_at"})
        self.assertEqual([x["id"] for x in found["sample"]],
                         list(reversed(ids))[:10])
        self.assertEqual([self.node.job(x) for x in ids], before)

    def test_by_pattern_fingerprint_type_and_time(self):
        ids = [self.fail_with(f"busy at {n}%") for n in range(3)]
        other = self.fail_with("wrong language")
        self.fake.mode("ok")
        for fields in ({"error_like": "%nothing like it%"},
                       {"error_like": "busy"}, {"error_like": ""},
                       {"error_like": "%BUSY%"},
                       {"error_like": "%wrong language%", "type": "OTHER"},
                       {"from": time_in(60)}, {"to": time_in(-60)},
                       {"fingerprint": "0123456789abcdef"}):
            with self.subTest(fields):
                if fields.get("error_like") == "":
                    self.bulk(400, **fields)
                    continue
                found = self.bulk(**fields)
                self.assertEqual((found["matched"], found["retried"],
                                  found["sample"]), (0, 0, []))
        # % and _ are wildcards, \\ takes that away.
        self.assertEqual(self.bulk(error_like="%busy at _\\%%",
                                   dry_run=True)["matched"], 3)
        group = next(x for x in self.errors() if x["count"] == 3)
        found = self.bulk(fingerprint=group["fingerprint"],
                          type="CARD_ANALYSIS")
        self.assertEqual((found["matched"], found["retried"],
                          found["passed_over"]), (3, 3, 0))
        self.settle(ids)
        for job_id in ids:
            # The text asks for its failure again: one more run, not two.
            self.assertEqual(self.node.job(job_id)["status"], "FAILED")
            self.assertEqual(len(self.node.attempts(job_id)), 2)
        self.assertEqual(len(self.node.attempts(other)), 1)
        found = self.bulk(**{"from": time_in(-60), "to": time_in(60)})
        self.assertEqual(found["retried"], 4)

    def test_no_job_twice_though_it_fails_again_at_once(self):
        ids = [self.node.add_job(f"gone {n}")["id"] for n in range(620)]
        self.settle(ids)
        found = self.bulk(error_like="Target data not found%")
        self.assertEqual((found["matched"], found["retried"],
                          found["passed_over"]), (620, 620, 0))
        self.settle(ids)
        runs = self.node.database.sql(
            "SELECT run, count(*) FROM job WHERE outcome = 'FAILED' "
            "GROUP BY run")
        self.assertEqual(runs, [["2", "620"]])

    def test_a_limit_takes_the_newest(self):
        ids = [self.fail_with(f"number {n}") for n in range(4)]
        # Else they may have failed again before anybody looks.
        self.node.post("/api/types/CARD_ANALYSIS/pause")
        found = self.bulk(error_like="%number%", limit=2)
        self.assertEqual((found["matched"], found["retried"]), (4, 2))
        self.assertEqual(
            [self.node.job(x)["status"] == "FAILED" for x in ids],
            [True, True, False, False])

    def test_what_cannot_be_retried_is_passed_over(self):
        failed = [self.node.wait_for_job(
            self.node.add_job("gone", unique_key="one")["id"])["id"]
            for _ in range(2)]
        self.node.post("/api/types/CARD_ANALYSIS/pause")
        holder = self.node.add_job("later", unique_key="one")
        found = self.bulk()
        self.assertEqual((found["matched"], found["retried"],
                          found["passed_over"]), (2, 0, 2))
        self.node.post(f"/api/jobs/{holder['id']}/cancel")
        # Now one of them can hold the key.
        found = self.bulk()
        self.assertEqual((found["matched"], found["retried"],
                          found["passed_over"]), (2, 1, 1))
        self.assertEqual(sorted(self.node.job(x)["status"] for x in failed),
                         ["FAILED", "PENDING"])

    def test_wrong_requests(self):
        job_id = self.node.add_job("gone")["id"]
        self.node.wait_for_job(job_id)
        for body in ({}, {"status": "PENDING"}, {"status": "failed"},
                     {"status": None}, {"status": "FAILED", "limit": 0},
                     {"status": "FAILED", "limit": 1.5},
                     {"status": "FAILED", "dry_run": "yes"},
                     {"status": "FAILED", "dry_run": 1},
                     {"status": "FAILED", "error_like": "%",
                      "fingerprint": "x"},
                     {"status": "FAILED", "error_like": 5},
                     {"status": "FAILED", "error_like": "x" * 4001},
                     {"status": "FAILED", "from": "today"},
                     {"status": "FAILED", "from": time_in(1),
                      "to": time_in(0)},
                     {"status": "FAILED", "ids": []}, []):
            with self.subTest(body):
                self.assert_problem(
                    self.node.post("/api/jobs/retry", body), 400)
        self.assertEqual(len(self.node.attempts(job_id)), 1)

    def test_two_operators_at_once(self):
        ids = [self.node.add_job(f"gone {n}")["id"] for n in range(40)]
        self.settle(ids)
        self.fake.mode("hang")
        self.node.post("/api/types/CARD_ANALYSIS/pause")
        first, second = self.bulk(), self.bulk()
        self.assertEqual((first["retried"], second["retried"]), (40, 0))
        self.assertEqual({self.node.job(x)["status"] for x in ids},
                         {"PENDING"})


@both_stores
class Pauses(FailureTest):
    def test_a_paused_type_rests_and_goes_on(self):
        answer = self.node.post("/api/types/CARD_ANALYSIS/pause",
                                {"reason": "the AI is ill"})
        self.assertEqual(answer.json, {"type": "CARD_ANALYSIS", "paused": True,
                                       "reason": "the AI is ill"})
        made = self.node.add_scrap("Waits.")
        why = self.node.get(f"/api/jobs/{made['job_id']}/explain").json
        self.assertEqual((why["code"], why["status"]),
                         ("type_paused", "PENDING"))
        self.assertIn("the AI is ill", why["text"])
        found = {x["type"]: x for x in self.node.get("/api/types").json[
            "types"]}
        state = found["CARD_ANALYSIS"]
        self.assertEqual((state["paused"], state["reason"], state["running"],
                          state["max_attempts"], state["timeout_seconds"]),
                         (True, "the AI is ill", 0, 3, 300.0))
        time_of(state["paused_since"])
        self.assertFalse(found["BOOK_GENERATION"]["paused"])
        self.assertLessEqual({"CARD_ANALYSIS", "TIL_GENERATION",
                              "RECALL_GENERATION", "BOOK_GENERATION",
                              "IMAGE_REGEN"}, set(found))
        # It outlives the node.
        self.node.terminate()
        self.node.start()
        wait_until(lambda: self.node.get("/readyz").status == 200, "ready")
        self.assertEqual(self.node.job(made["job_id"])["status"], "PENDING")
        answer = self.node.post("/api/types/CARD_ANALYSIS/resume")
        self.assertEqual(answer.json["paused"], False)
        self.assertEqual(self.node.wait_for_job(made["job_id"])["status"],
                         "COMPLETED")
        self.assertEqual(self.fake.calls()[-1]["n"], 1)

    def test_names_are_case_sensitive_and_known(self):
        for name in ("card_analysis", "NONE", "CARD_ANALYSIS%00", "x" * 300):
            for action in ("pause", "resume"):
                answer = self.node.post(f"/api/types/{name}/{action}")
                self.assertIn(answer.status, (400, 404), name)
        for body in ({"reason": ""}, {"reason": 1}, {"why": "x"}, [],
                     {"reason": "x" * 501}):
            self.assert_problem(
                self.node.post("/api/types/CARD_ANALYSIS/pause", body), 400)
        # Twice is as good as once.
        for action in ("resume", "pause", "pause", "resume", "resume"):
            self.assertEqual(self.node.post(
                f"/api/types/CARD_ANALYSIS/{action}").status, 200)


@both_stores
class Explain(FailureTest):
    def explain(self, job_id: str, headers=None) -> dict:
        answer = self.node.get(f"/api/jobs/{job_id}/explain", headers)
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(set(answer.json), {
            "job_id", "status", "code", "text", "until", "blocking_job",
            "queue_position"})
        return answer.json

    def test_what_keeps_a_job(self):
        later = self.node.add_job(run_at=time_in(3600))
        why = self.explain(later["id"])
        self.assertEqual((why["code"], why["until"]),
                         ("due_later", later["run_at"]))
        failed = self.node.add_job("gone")["id"]
        self.node.wait_for_job(failed)
        why = self.explain(failed)
        self.assertEqual(why["code"], "finished")
        self.assertIn(GONE, why["text"])
        self.assert_problem(self.node.get(f"/api/jobs/{NO_ID}/explain"), 404)
        self.assert_problem(
            self.node.get(f"/api/jobs/{failed}/explain?x=1"), 400)

    def test_behind_others(self):
        self.node = self.start_node({**self.fake.options, "workers": 1})
        self.fake.mode("hang")
        running = self.node.add_scrap("Runs.")["job_id"]
        self.node.wait_for_job(running, "PROCESSING")
        self.assertEqual(self.explain(running)["code"], "running")
        first = self.node.add_scrap("Waits.")["job_id"]
        second = self.node.add_scrap("Waits longer.")["job_id"]
        self.assertEqual([self.explain(x)["queue_position"]
                          for x in (first, second)], [1, 2])
        why = self.explain(first)
        self.assertEqual(why["blocking_job"], running)
        self.assertIn(running, why["text"])

    def test_never_another_users_job(self):
        self.node = self.start_node({**self.fake.options, "workers": 1,
                                     "auth.mode": "api-key"})
        kim, lee = [{"Authorization": "Bearer " + run_reeve(
            "keys", "create", "--name=x", "--role=client", "--user=" + user,
            "--database.url=" + self.node.database.url).stdout.strip()}
            for user in ("kim", "lee")]
        self.fake.mode("hang")
        made = [self.node.post("/api/scraps", {"content": "Text."}, who).json[
            "job_id"] for who in (kim, lee, kim)]
        wait_until(lambda: self.node.get(
            "/api/jobs/" + made[0], kim).json["status"] == "PROCESSING",
            "the first run")
        self.assert_problem(self.node.get(
            f"/api/jobs/{made[0]}/explain", lee), 404)
        why = self.explain(made[1], lee)
        self.assertIsNone(why["blocking_job"])
        self.assertNotIn(made[0], str(why))
        self.assertEqual(self.explain(made[2], kim)["blocking_job"], made[0])


if __name__ == "__main__":
    unittest.main()
