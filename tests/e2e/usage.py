# tests/e2e/usage.py -- what providers were paid for: steps, jobs, sums.
import datetime
import unittest

from book_shop import BookProviders, BookTest
from harness import both_stores, run_reeve, time_in, time_of

NOTHING = {"input_tokens": 0, "output_tokens": 0, "images": 0}


def total(parts) -> dict:
    parts = list(parts)
    return {name: sum(x[name] for x in parts) for name in NOTHING}


@both_stores
class Usage(BookTest):
    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        self.fake = BookProviders()
        self.addCleanup(self.fake.close)
        self.node = self.start_node(self.fake.options)

    def usage(self, query: str = "", headers=None) -> dict:
        answer = self.node.get("/api/usage" + query, headers)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def make_book(self, pages: int, user: str) -> dict:
        made = self.ordered(self.node, pages, user_id=user)
        job = self.node.wait_for_job(made["job_id"])
        self.assertEqual(job["status"], "COMPLETED", job)
        return job

    def test_steps_jobs_and_sums_agree(self):
        empty = self.usage()
        self.assertEqual((empty["group_by"], empty["rows"], empty["total"]),
                         ("type", [], NOTHING))
        span = time_of(empty["to"]) - time_of(empty["from"])
        self.assertEqual(span, datetime.timedelta(days=30))
        jobs = [self.make_book(2, "kim"), self.make_book(1, "kim"),
                self.make_book(1, "lee")]
        for job in jobs:
            steps = self.node.get(f"/api/jobs/{job['id']}/steps").json["steps"]
            self.assertEqual(total(x["usage"] for x in steps), job["usage"])
            self.assertEqual(set(steps[0]), {
                "name", "provider", "model", "usage", "took_ms", "run",
                "created_at", "result"})
            self.assertEqual(
                [(x["provider"], x["usage"]["images"]) for x in steps],
                [("anthropic", 0)] + [("gemini", 1)] * (len(steps) - 1))
            self.assertTrue(all(x["run"] == 1 and x["took_ms"] >= 0
                                for x in steps))
        everything = total(x["usage"] for x in jobs)
        found = self.usage()
        self.assertEqual(found["rows"], [
            {"key": "BOOK_GENERATION", "jobs": 3, "steps": 7,
             "usage": everything}])
        self.assertEqual(found["total"], everything)
        rows = {x["key"]: x for x in self.usage("?group_by=user")["rows"]}
        self.assertEqual(set(rows), {"kim", "lee"})
        self.assertEqual((rows["kim"]["jobs"], rows["kim"]["steps"]), (2, 5))
        self.assertEqual(rows["kim"]["usage"],
                         total(x["usage"] for x in jobs[:2]))
        days = self.usage("?group_by=day")
        # Midnight may come between two of them.
        self.assertLessEqual(len(days["rows"]), 2)
        self.assertEqual(days["total"], everything)
        for row in days["rows"]:
            self.assertRegex(row["key"], r"^\d{4}-\d\d-\d\d$")

    def test_spans(self):
        self.make_book(1, "kim")
        for query in (f"?from={time_in(60)}&to={time_in(120)}",
                      f"?to={time_in(-60)}",
                      "?from=2001-01-01T00:00:00Z&to=2002-01-01T00:00:00Z"):
            self.assertEqual(self.usage(query)["rows"], [], query)
        found = self.usage(f"?from={time_in(-60)}&to={time_in(60)}")
        self.assertEqual(len(found["rows"]), 1)
        for wrong in ("?group_by=model", "?group_by=", "?from=x", "?to=x",
                      f"?from={time_in(1)}&to={time_in(0)}", "?x=1",
                      f"?from={time_in(60)}"):
            self.assert_problem(self.node.get("/api/usage" + wrong), 400)

    def test_failed_attempts_cost_too(self):
        # The text is paid for once, though the job fails at its page.
        self.fake.fault(api="gemini", kind="refusal", count=None)
        made = self.ordered(self.node, 1)
        job = self.node.wait_for_job(made["job_id"])
        self.assertEqual(job["status"], "FAILED", job)
        self.assertGreater(job["usage"]["output_tokens"], 0)
        self.assertEqual(job["usage"]["images"], 0)
        self.assertEqual(self.usage()["total"], job["usage"])

    def test_redraws_have_their_own_type(self):
        job = self.make_book(1, "local")
        self.grant(self.node, 5)
        path = f"/api/contents/{job['target_id']}/pages/1/image"
        redraw = self.node.post(path, {}).json["job_id"]
        self.assertEqual(self.node.wait_for_job(redraw)["usage"]["images"], 1)
        rows = {x["key"]: x["usage"]["images"] for x in self.usage()["rows"]}
        self.assertEqual(rows, {"BOOK_GENERATION": 1, "IMAGE_REGEN": 1})

    def test_clients_see_their_own(self):
        self.node = self.start_node({**self.fake.options,
                                     "auth.mode": "api-key"})
        url = "--database.url=" + self.node.database.url
        kim, lee = [{"Authorization": "Bearer " + run_reeve(
            "keys", "create", "--name=x", "--role=client", "--user=" + user,
            url).stdout.strip()} for user in ("kim", "lee")]
        self.grant(self.node, 15, "kim")
        made = self.order(self.node, 1, kim).json
        path = f"/api/jobs/{made['job_id']}"
        while self.node.get(path + "?wait=5", kim).json["status"] in (
                "PENDING", "PROCESSING"):
            pass
        for query in ("", "?group_by=user"):
            found = self.usage(query, kim)
            self.assertEqual([x["key"] for x in found["rows"]], ["kim"])
            self.assertEqual(self.usage(query, lee)["rows"], [])
        for by in ("type", "day"):
            self.assert_problem(
                self.node.get("/api/usage?group_by=" + by, kim), 403)


if __name__ == "__main__":
    unittest.main()
