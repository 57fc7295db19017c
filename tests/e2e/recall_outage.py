# tests/e2e/recall_outage.py -- GET /api/recall while the provider of
# embeddings refuses, throttles or hangs.
import threading
import time
import unittest

from faults import FaultTest
from harness import both_stores, quote


@both_stores
class RecallOutage(FaultTest):

    def setUp(self):
        self.fake = self.start_analysis()
        self.node = self.start(self.fake)

    def recall(self):
        return self.node.get("/api/recall?q=bread")

    def lane(self) -> dict:
        lane, = [x for x in self.node.get("/api/providers").json["providers"]
                 if x["name"].startswith("analysis-server/")]
        return lane

    def assert_refused(self, answer, *texts: str):
        problem = self.assert_problem(answer, 503, "analysis-server", *texts)
        self.assertEqual(problem["type"],
                         "urn:reeve:problem:provider_unavailable")
        self.assertNotIn("database", problem["detail"])

    def test_a_bad_key_is_tried_once(self):
        self.fake.mode("http:401")
        for _ in range(3):
            answer = self.recall()
            self.assert_refused(answer, "401")
            self.assertNotIn("Retry-After", answer.headers)
        self.assertEqual(len(self.fake.calls()), 1)
        lane = self.lane()
        self.assertEqual(lane["state"], "paused")
        self.fake.mode("ok")
        self.assertEqual(self.node.post(
            f"/api/providers/{quote(lane['name'], safe='')}/resume").status,
            200)
        self.assertEqual(self.recall().status, 200)
        self.assertEqual(self.lane()["in_flight"], 0)

    def test_a_throttled_lane_says_for_how_long(self):
        self.fake.mode("http429;retry-after=60", times=1)
        self.assertEqual(self.recall().headers["Retry-After"], "60")
        answer = self.recall()
        self.assert_refused(answer)
        self.assertTrue(1 <= int(answer.headers["Retry-After"]) <= 67)
        self.assertEqual(len(self.fake.calls()), 1)

    def test_a_hanging_call_ends_and_few_wait_for_it(self):
        self.fake.mode("hang", times=1)
        answers = []

        def ask():
            began = time.monotonic()
            answer = self.recall()
            answers.append((time.monotonic() - began, answer))
        first = threading.Thread(target=ask)
        first.start()
        self.wait_for_call(self.fake)
        others = [threading.Thread(target=ask) for _ in range(11)]
        for thread in others:
            thread.start()
        for thread in [first, *others]:
            thread.join(30)
        self.assertEqual(len(answers), 12)
        refused = [x for x in answers if x[1].status != 200]
        late = [x for x in refused if "in time" in x[1].json["detail"]]
        at_once = [x for x in refused if "too many" in x[1].json["detail"]]
        self.assertEqual((len(late), len(at_once), len(refused)), (1, 3, 4))
        self.assertGreater(late[0][0], 7)
        for took, answer in at_once:
            self.assert_refused(answer)
            self.assertLess(took, 5)
            self.assertEqual(answer.headers["Retry-After"], "1")
        # Being broken off teaches the lane nothing.
        self.assertEqual((self.lane()["state"], self.lane()["in_flight"]),
                         ("open", 0))
        self.assertEqual(len(self.fake.calls()), 9)

    def test_a_node_ends_in_the_middle_of_a_call(self):
        self.fake.mode("hang")
        thread = threading.Thread(target=self.try_recall)
        thread.start()
        self.wait_for_call(self.fake)
        began = time.monotonic()
        self.node.terminate()
        self.assertLess(time.monotonic() - began, 5)
        thread.join(30)

    def try_recall(self):
        try:
            self.recall()
        except OSError:
            pass


if __name__ == "__main__":
    unittest.main()
