# tests/e2e/steps_kill.py -- kill -9 at each step of a five-page book: nothing
# that a provider finished and the node committed is paid for again.
import unittest

from book_shop import BookProviders, BookTest, assert_ledger, price_of
from harness import both_stores

PAGES = 5
STEPS = ["text", *(f"image-{n}" for n in range(1, PAGES + 1))]


@both_stores
class StepsKill(BookTest):
    @classmethod
    def setUpClass(cls):
        pass

    def setUp(self):
        self.fake = BookProviders()
        self.addCleanup(self.fake.close)
        self.node = self.start_node({
            **self.fake.options, "shutdown-grace": "200ms",
            # A rescue counts as an attempt.
            "types.BOOK_GENERATION.max-attempts": 20})

    def calls(self) -> list[str]:
        """The step that each call was made for."""
        result = []
        for call in self.fake.calls():
            page = self.fake.page_of(call)
            result.append("text" if page is None else f"image-{page}")
        return result

    def steps(self, job_id: str) -> list[str]:
        return [x["name"] for x in
                self.node.get(f"/api/jobs/{job_id}/steps").json["steps"]]

    def hang_at(self, step: str):
        if step == "text":
            self.fake.fault(api="messages", kind="hang")
        else:
            number = step.split("-")[1]
            self.fake.fault(api="gemini", kind="hang",
                            match=f"page {number} of {PAGES}")

    def wait_for(self, step: str, count: int = 1):
        if step == "text":
            self.fake.wait_for_call("messages", count=count)
        else:
            self.fake.wait_for_call("gemini", page=int(step.split("-")[1]),
                                    count=count)

    def check_whole(self, made: dict):
        job = self.node.wait_for_job(made["job_id"])
        self.assertEqual(job["status"], "COMPLETED", job)
        self.assertEqual(self.steps(made["job_id"]), STEPS)
        self.assertEqual(job["usage"]["images"], PAGES)
        book = self.content(self.node, made["content_id"])
        sent = {self.fake.page_of(x): x["image"]
                for x in self.fake.calls("gemini") if x["finished"]}
        for page in book["pages"]:
            self.assertEqual(page["image"]["etag"],
                             f'"{sent[page["number"]]}"')
        self.assertEqual(self.entries_of(self.node, made["job_id"]),
                         [("charge", -price_of(PAGES))])
        assert_ledger(self, self.node.database)

    def test_between_any_two_steps(self):
        # That the next call is under way says that all before is committed.
        for index, step in enumerate(STEPS):
            with self.subTest(killed_at=step):
                self.fake.reset()
                self.hang_at(step)
                made = self.ordered(self.node, PAGES)
                self.wait_for(step)
                self.assertEqual(self.steps(made["job_id"]), STEPS[:index])
                self.node.kill9()
                self.assertEqual(self.calls(), STEPS[:index + 1])
                self.node.start()
                self.check_whole(made)
                self.assertEqual(self.calls(),
                                 STEPS[:index + 1] + STEPS[index:])

    def test_at_every_step_of_one_book(self):
        for step in STEPS:
            self.hang_at(step)
        made = self.ordered(self.node, PAGES)
        for index, step in enumerate(STEPS):
            self.wait_for(step)
            self.node.kill9()
            self.node.start()
            self.wait_for(step, 2)
        self.check_whole(made)
        self.assertEqual(self.calls(), [x for x in STEPS for _ in range(2)])
        job = self.node.job(made["job_id"])
        self.assertEqual(job["attempts"], len(STEPS) + 1)

    def test_as_soon_as_a_page_is_seen(self):
        # The progress of a page comes after its step; the call for the next
        # one may be at any point.
        for page in range(1, PAGES + 1):
            with self.subTest(page=page):
                self.fake.reset()
                made = self.ordered(self.node, PAGES)
                drawn = f"page {page} of {PAGES} drawn"
                self.node.wait_for_job(
                    made["job_id"], lambda job, drawn=drawn:
                    job["progress"]["message"] == drawn
                    or job["status"] == "COMPLETED"
                    or self.beyond(job, page))
                self.node.kill9()
                before = self.calls()
                self.node.start()
                self.check_whole(made)
                again = self.calls()[len(before):]
                for step in STEPS[:page + 1]:
                    self.assertEqual(before.count(step), 1)
                    self.assertNotIn(step, again)

    @staticmethod
    def beyond(job: dict, page: int) -> bool:
        """Progress is written at most so often; a later one will do."""
        words = job["progress"]["message"].split()
        return (len(words) == 5 and words[4] == "drawn"
                and int(words[1]) > page)

    def test_cut_off_by_a_drain(self):
        self.fake.fault(api="gemini", kind="hang",
                        match=f"page 3 of {PAGES}")
        made = self.ordered(self.node, PAGES)
        self.wait_for("image-3")
        self.assertEqual(self.node.terminate(), 0)
        self.node.start()
        self.check_whole(made)
        self.assertEqual(self.calls(), STEPS[:4] + STEPS[3:])
        # An interrupted run is not the job's fault.
        self.assertEqual(self.node.job(made["job_id"])["attempts"], 1)


if __name__ == "__main__":
    unittest.main()
