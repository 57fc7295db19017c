# tests/e2e/provider_outage.py -- lanes: throttled, broken, paused, resumed.
import time
import unittest

from book_shop import BookProviders, BookTest, assert_ledger, price_of
from faults import wait_until
from harness import both_stores, quote

TEXT = "anthropic/claude-fake"
IMAGE = "gemini/gemini-fake"


@both_stores
class Lanes(BookTest):
    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        self.fake = BookProviders()
        self.addCleanup(self.fake.close)
        self.node = self.start_node({
            **self.fake.options, "gate.breaker-delay": "200ms",
            "gate.breaker-max-delay": "1s"})

    def lane(self, name: str) -> dict:
        lanes = self.node.get("/api/providers").json["providers"]
        return next(x for x in lanes if x["name"] == name)

    def assert_completed(self, made: dict, attempts: int = 1):
        job = self.node.wait_for_job(made["job_id"], timeout=60)
        self.assertEqual((job["status"], job["attempts"]),
                         ("COMPLETED", attempts), job)
        return job

    def test_lanes_are_shown(self):
        lanes = self.node.get("/api/providers").json["providers"]
        self.assertEqual({x["name"] for x in lanes}, {TEXT, IMAGE})
        self.assertEqual(set(lanes[0]), {
            "name", "state", "reason", "opens_in_seconds", "in_flight",
            "concurrency", "waiting", "calls", "outages", "limits"})
        image = self.lane(IMAGE)
        self.assertEqual((image["state"], image["reason"],
                          image["concurrency"], image["calls"]),
                         ("open", None, 1, 0))
        self.assert_completed(self.ordered(self.node, 2))
        self.assertEqual((self.lane(TEXT)["calls"], self.lane(IMAGE)["calls"]),
                         (1, 2))
        types = {x["type"]: x for x in self.node.get("/api/types").json[
            "types"]}
        self.assertEqual({x["name"] for x in
                          types["BOOK_GENERATION"]["lanes"]}, {TEXT, IMAGE})

    def test_retry_after_delays_the_lane(self):
        self.fake.fault(api="messages", status=429,
                        headers={"retry-after": "3"})
        first = self.ordered(self.node, 1)
        call = self.fake.wait_for_call("messages")
        wait_until(lambda: self.lane(TEXT)["state"] == "parked",
                   "the lane to be parked")
        lane = self.lane(TEXT)
        self.assertTrue(0 < lane["opens_in_seconds"] <= 5, lane)
        self.assertTrue(lane["reason"])
        # Another job does not call either.
        second = self.ordered(self.node, 1)
        why = self.node.get(f"/api/jobs/{second['job_id']}/explain").json
        self.assertEqual(why["code"], "lane_closed", why)
        self.assertIn(TEXT, why["text"])
        self.assertIsNotNone(why["until"])
        jobs = [self.assert_completed(x) for x in (first, second)]
        self.assertEqual([x["unspent"]["throttled"] for x in jobs], [1, 0])
        calls = self.fake.calls("messages")
        self.assertEqual(len(calls), 3)
        self.assertGreaterEqual(calls[1]["time"] - call["time"], 3)
        self.assertEqual(self.lane(TEXT)["state"], "open")
        assert_ledger(self, self.node.database)

    def test_a_bad_key_pauses_the_lane(self):
        self.fake.fault(api="messages", status=401, count=None,
                        type="authentication_error",
                        message="invalid x-api-key")
        made = [self.ordered(self.node, 1) for _ in range(3)]
        wait_until(lambda: self.lane(TEXT)["state"] == "paused",
                   "the lane to be paused")
        lane = self.lane(TEXT)
        self.assertIn("check the configured API key", lane["reason"])
        self.assertIsNone(lane["opens_in_seconds"])
        self.assertEqual(self.lane(IMAGE)["state"], "open")
        why = wait_until(lambda: (lambda x: x if x["code"] == "lane_closed"
                                  else None)(self.node.get(
            f"/api/jobs/{made[-1]['job_id']}/explain").json), "the reason")
        self.assertIn("check the configured API key", why["text"])
        # It is never looped on: a second of rest has no call in it.
        seen = self.fake.count("messages")
        self.assertLessEqual(seen, 3)
        time.sleep(1)
        self.assertEqual(self.fake.count("messages"), seen)
        self.fake.no_faults()
        path = f"/api/providers/{quote(TEXT, safe='')}/resume"
        answer = self.node.post(path)
        self.assertEqual((answer.status, answer.json),
                         (200, {"name": TEXT, "resumed": True}))
        for x in made:
            self.assert_completed(x)
        self.assertEqual(self.lane(TEXT)["state"], "open")
        assert_ledger(self, self.node.database)

    def test_an_outage_costs_no_attempt(self):
        self.fake.fault(api="messages", status=529, count=None,
                        type="overloaded_error")
        made = [self.ordered(self.node, 1) for _ in range(6)]
        wait_until(lambda: self.lane(TEXT)["state"] in ("broken", "probing"),
                   "the breaker to open")
        self.assertGreaterEqual(self.lane(TEXT)["outages"], 3)
        # Probes only: about one a second, whatever waits.
        before = self.fake.count("messages")
        time.sleep(2)
        self.assertLessEqual(self.fake.count("messages") - before, 10)
        self.fake.no_faults()
        for x in made:
            self.assert_completed(x)
        self.assertEqual(self.lane(TEXT)["state"], "open")
        self.assertEqual(self.balance(self.node), 0)
        assert_ledger(self, self.node.database)

    def test_resuming_what_is_not_there(self):
        for name in ("x", "anthropic%2Fother", "ANTHROPIC%2FCLAUDE-FAKE",
                     "anthropic"):
            self.assert_problem(
                self.node.post(f"/api/providers/{name}/resume"), 404)
        # An unescaped slash is another path.
        self.assert_problem(
            self.node.post(f"/api/providers/{TEXT}/resume"), 404)
        path = f"/api/providers/{quote(TEXT, safe='')}/resume"
        self.assert_problem(self.node.post(path, {"force": True}), 400)
        # One that is open stays so.
        self.assertEqual(self.node.post(path).status, 200)
        self.assertEqual(self.lane(TEXT)["state"], "open")

    def test_charged_but_never_drawn(self):
        self.fake.fault(api="gemini", status=429, count=None,
                        retry_delay="30s")
        made = self.ordered(self.node, 2)
        wait_until(lambda: self.lane(IMAGE)["state"] == "parked",
                   "the lane to be parked")
        self.assertEqual(self.node.post(
            f"/api/jobs/{made['job_id']}/cancel").status, 200)
        job = self.node.wait_for_job(made["job_id"])
        self.assertEqual(job["status"], "CANCELLED")
        self.assertEqual(self.balance(self.node), price_of(2))
        assert_ledger(self, self.node.database)


if __name__ == "__main__":
    unittest.main()
