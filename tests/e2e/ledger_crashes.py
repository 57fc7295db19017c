# tests/e2e/ledger_crashes.py -- random crashes, cancels, retries and double
# posts: the ledgers add up, and nobody pays twice.
#
# REEVE_TEST_ROUNDS sets the number of crashes for each store, REEVE_TEST_SEED
# repeats a run.
import http.client
import os
import random
import threading
import time
import unittest

from book_shop import BookProviders, BookTest, assert_ledger, price_of
from faults import wait_until
from harness import FINAL, both_stores

USERS = ("kim", "lee", "pat")


class Customer(threading.Thread):
    """Orders books, posts some orders twice, cancels and retries some. What
    was acknowledged is kept; an answer that never came may mean anything."""

    def __init__(self, test: BookTest, node, user: str, seed: int):
        super().__init__(daemon=True)
        self.orders: dict[str, str] = {}  # key -> job id
        self.problems: list[str] = []
        self._node = node
        self._user = user
        self._chance = random.Random(seed)
        self._test = test
        self._ended = threading.Event()
        self._number = 0

    def stop(self):
        self._ended.set()
        self.join(60)

    def run(self):
        while not self._ended.is_set():
            try:
                self._act()
            except (OSError, http.client.HTTPException):
                # The node is down; whether it was done nobody knows.
                self._ended.wait(0.02)
            except AssertionError as err:
                self.problems.append(str(err))

    def _act(self):
        what = self._chance.random()
        if what < 0.6 or not self.orders:
            self._number += 1
            self._order(f"{self._user}-{self._number}")
        elif what < 0.75:
            # A client that did not hear the answer posts again.
            number = self._chance.randint(1, self._number)
            self._order(f"{self._user}-{number}")
        else:
            job_id = self._chance.choice(list(self.orders.values()))
            verb = "cancel" if what < 0.9 else "retry"
            answer = self._node.post(f"/api/jobs/{job_id}/{verb}")
            self._check(answer, (200, 402, 409, 503))

    def _order(self, key: str):
        pages = 1 + int(key.split("-")[1]) % 2
        answer = self._test.order(self._node, pages, {"Idempotency-Key": key},
                                  user_id=self._user)
        self._check(answer, (202, 402, 503))
        if answer.status != 202:
            self._ended.wait(0.05)
            return
        job_id = answer.json["job_id"]
        if self.orders.setdefault(key, job_id) != job_id:
            self.problems.append(f"{key}: {job_id} and {self.orders[key]}")

    def _check(self, answer, expected):
        if answer.status not in expected:
            self.problems.append(repr(answer))


@both_stores
class Crashes(BookTest):
    @classmethod
    def setUpClass(cls):
        pass

    def test_ledgers_add_up_whatever_happens(self):
        seed = int(os.environ.get("REEVE_TEST_SEED")
                   or random.randrange(1 << 32))
        rounds = int(os.environ.get("REEVE_TEST_ROUNDS") or 25)
        print(f"{self.id()}: REEVE_TEST_SEED={seed}", flush=True)
        chance = random.Random(seed)
        fake = BookProviders()
        self.addCleanup(fake.close)
        # Some texts are refused: these jobs fail for good.
        fake.fault(api="messages", kind="refusal", match="pages: 2",
                   count=max(3, rounds // 2))
        node = self.start_node({
            **fake.options, "retry.backoff": "20ms",
            "types.BOOK_GENERATION.max-attempts": 3})
        for user in USERS:
            self.grant(node, max(40, 2 * rounds) * price_of(2), user)
        customers = [Customer(self, node, user, seed + n)
                     for n, user in enumerate(USERS)]
        for customer in customers:
            customer.start()
        self.addCleanup(lambda: [x.stop() for x in customers])
        for _ in range(rounds):
            # The moment is what is tested, hence no event to wait for.
            time.sleep(chance.uniform(0.05, 0.5))
            node.kill9()
            assert_ledger(self, node.database)
            node.start()
        for customer in customers:
            customer.stop()
        self.assertEqual([p for x in customers for p in x.problems], [])
        wait_until(lambda: node.database.sql(
            "SELECT count(*) FROM job WHERE outcome IS NULL") == [["0"]],
            "all jobs to end", 120)
        assert_ledger(self, node.database)
        orders = {k: j for x in customers for k, j in x.orders.items()}
        self.assertGreater(len(orders), 0)
        statuses: dict[str, int] = {}
        for job_id in orders.values():
            # An order that was acknowledged is there.
            status = node.job(job_id)["status"]
            self.assertIn(status, FINAL)
            statuses[status] = statuses.get(status, 0) + 1
        # One job for a key, however often it was posted.
        keys = node.database.sql(
            "SELECT count(*), count(DISTINCT target_id) FROM job")[0]
        self.assertEqual(keys[0], keys[1])
        self.assert_books_whole(node)
        print(f"{self.id()}: {rounds} crashes, {len(orders)} orders "
              f"acknowledged of {keys[0]}, {statuses}", flush=True)

    def assert_books_whole(self, node):
        """A COMPLETED book has all its pages and pictures."""
        join = "j.target_id = c.id" if self.store == "sqlite" else \
            "j.target_id = c.id::text"
        wrong = node.database.sql(
            "SELECT c.id FROM contents c JOIN job j ON " + join +
            " WHERE j.outcome = 'COMPLETED' AND c.page_count <> "
            "(SELECT count(*) FROM page_images i WHERE i.content_id = c.id)")
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
