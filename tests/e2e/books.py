# tests/e2e/books.py -- picture books: ordered, paid for, drawn, looked at.
import hashlib
import threading
import time
import unittest

from book_shop import REDRAW, BookProviders, BookTest, assert_ledger, price_of
from harness import both_stores, run_reeve, time_of

NO_ID = "00000000-0000-7000-8000-000000000000"


@both_stores
class Shop(BookTest):
    """Without a provider: the local models write and draw."""

    def test_a_book_from_order_to_picture(self):
        self.grant(self.node, 100, "reader")
        answer = self.order(self.node, 3, user_id="reader")
        self.assertEqual(answer.status, 202, answer)
        made = answer.json
        self.assertEqual(set(made), {"content_id", "job_id", "status",
                                     "tokens_charged", "balance"})
        self.assertEqual((made["tokens_charged"], made["balance"]),
                         (price_of(3), 100 - price_of(3)))
        path = "/api/contents/" + made["content_id"]
        self.assertEqual(answer.headers["Location"], path)
        job = self.node.wait_for_job(made["job_id"])
        self.assertEqual(job["status"], "COMPLETED", job)
        self.assertEqual(
            (job["type"], job["target_id"], job["user_id"], job["payload"]),
            ("BOOK_GENERATION", made["content_id"], "reader",
             {"title": "The Fox", "prompt": "a fox that learns to swim",
              "pages": 3}))
        book = self.content(self.node, made["content_id"])
        self.assertEqual(
            (book["id"], book["job_id"], book["user_id"], book["title"],
             book["prompt"], book["page_count"], book["status"],
             book["progress"]["percent"], book["error_message"]),
            (made["content_id"], made["job_id"], "reader", "The Fox",
             "a fox that learns to swim", 3, "COMPLETED", 100, None))
        time_of(book["created_at"])
        self.assertEqual([x["number"] for x in book["pages"]], [1, 2, 3])
        for page in book["pages"]:
            self.assertTrue(page["text"])
            self.assert_image_served(made["content_id"], page)
        self.assertEqual(self.entries_of(self.node, made["job_id"], "reader"),
                         [("charge", -price_of(3))])
        assert_ledger(self, self.node.database)

    def assert_image_served(self, content_id: str, page: dict):
        info = page["image"]
        self.assertEqual(
            info["url"],
            f"/api/contents/{content_id}/pages/{page['number']}/image")
        answer = self.image(self.node, content_id, page["number"])
        self.assertEqual(answer.status, 200)
        digest = hashlib.sha256(answer.body).hexdigest()
        self.assertEqual(info["etag"], f'"{digest}"')
        self.assertEqual(info["bytes"], len(answer.body))
        expected = {"ETag": info["etag"], "Content-Type": "image/svg+xml",
                    "Cache-Control": "private, no-cache",
                    "X-Content-Type-Options": "nosniff"}
        for name, value in expected.items():
            self.assertEqual(answer.headers[name], value)
        # Opened by itself it is a document of this origin.
        self.assertIn("sandbox", answer.headers["Content-Security-Policy"])
        head = self.image(self.node, content_id, page["number"],
                          method="HEAD")
        self.assertEqual((head.status, head.body), (200, b""))
        self.assertEqual(head.headers["Content-Length"],
                         str(len(answer.body)))
        self.assertEqual(head.headers["ETag"], info["etag"])
        for known in (info["etag"], "W/" + info["etag"], "*",
                      f'"other", {info["etag"]}'):
            same = self.image(self.node, content_id, page["number"],
                              {"If-None-Match": known})
            self.assertEqual((same.status, same.body), (304, b""))
            self.assertEqual(same.headers["ETag"], info["etag"])
        other = self.image(self.node, content_id, page["number"],
                           {"If-None-Match": '"other"'})
        self.assertEqual((other.status, other.body), (200, answer.body))

    def test_short_of_tokens(self):
        self.grant(self.node, price_of(2) - 1, "short")
        jobs = "SELECT count(*) FROM job"
        contents = "SELECT count(*) FROM contents"
        before = [self.node.database.sql(x) for x in (jobs, contents)]
        answer = self.order(self.node, 2, user_id="short")
        problem = self.assert_problem(answer, 402, str(price_of(2)),
                                      members=("price", "balance"))
        self.assertEqual((problem["price"], problem["balance"]),
                         (price_of(2), price_of(2) - 1))
        self.assertTrue(problem["type"].endswith(":insufficient_funds"))
        after = [self.node.database.sql(x) for x in (jobs, contents)]
        self.assertEqual(before, after)
        # One page less is affordable.
        self.assertEqual(self.order(self.node, 1, user_id="short").status, 202)
        answer = self.order(self.node, 1, user_id="never seen")
        problem = self.assert_problem(answer, 402,
                                      members=("price", "balance"))
        self.assertEqual(problem["balance"], 0)

    def test_wrong_orders_cost_nothing(self):
        self.grant(self.node, 1000, "careful")
        good = {"title": "t", "prompt": "p", "pages": 1, "user_id": "careful"}
        for wrong in ({"title": None}, {"title": ""}, {"title": 5},
                      {"title": " \t"}, {"title": "x" * 501},
                      {"prompt": None}, {"prompt": ""}, {"prompt": "\n"},
                      {"prompt": "x" * 20_001}, {"pages": None}, {"pages": 0},
                      {"pages": 31}, {"pages": 1.5}, {"pages": "2"},
                      {"pages": -1}, {"pages": 1 << 64}, {"user_id": ""},
                      {"user_id": "x" * 201}, {"colour": "red"}):
            with self.subTest(wrong):
                self.assert_problem(
                    self.node.post("/api/generate", {**good, **wrong}), 400)
        for body in ("", "{", "[]", "null", '{"title":"a\\u0000b"}',
                     b'{"title":"\xff"}'):
            with self.subTest(body):
                self.assert_problem(self.node.post("/api/generate", body), 400)
        self.assertEqual(self.balance(self.node, "careful"), 1000)
        self.assertEqual(
            self.node.get("/api/jobs?user_id=careful").json["jobs"], [])

    def test_posted_twice_with_one_key_is_charged_once(self):
        self.grant(self.node, 100, "twice")
        key = {"Idempotency-Key": "order-1"}
        first = self.order(self.node, 2, key, user_id="twice")
        again = self.order(self.node, 2, key, user_id="twice")
        self.assertEqual((first.status, again.status), (202, 202))
        for name in ("content_id", "job_id", "tokens_charged"):
            self.assertEqual(first.json[name], again.json[name])
        self.assertEqual(again.headers["Idempotency-Replayed"], "true")
        self.assertEqual(self.balance(self.node, "twice"), 100 - price_of(2))
        self.assertEqual(again.json["balance"], 100 - price_of(2))
        self.assert_problem(self.order(self.node, 3, key, user_id="twice"),
                            422)
        self.node.wait_for_job(first.json["job_id"])
        late = self.order(self.node, 2, key, user_id="twice")
        self.assertEqual(late.json["status"], "COMPLETED")
        # Also at once, with a key that nobody has used yet.
        answers = self.at_once(8, lambda _: self.order(
            self.node, 1, {"Idempotency-Key": "order-2"}, user_id="twice"))
        self.assertEqual({x.status for x in answers}, {202})
        self.assertEqual(len({x.json["job_id"] for x in answers}), 1)
        self.assertEqual(self.balance(self.node, "twice"),
                         100 - price_of(2) - price_of(1))
        # A key that comes again when nothing is left still finds its book.
        self.grant(self.node, -self.balance(self.node, "twice"), "twice")
        late = self.order(self.node, 2, key, user_id="twice")
        self.assertEqual((late.status, late.json["job_id"]),
                         (202, first.json["job_id"]))
        assert_ledger(self, self.node.database)

    @staticmethod
    def at_once(count: int, ask) -> list:
        barrier = threading.Barrier(count)
        results = [None] * count

        def one(i: int):
            barrier.wait()
            results[i] = ask(i)

        threads = [threading.Thread(target=one, args=(i,))
                   for i in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    def test_two_at_once_never_overdraw(self):
        for round_ in range(5):
            user = f"racer {round_}"
            self.grant(self.node, 2 * price_of(1) + price_of(1) - 1, user)
            answers = self.at_once(6, lambda _: self.order(
                self.node, 1, user_id=user))
            statuses = sorted(x.status for x in answers)
            self.assertEqual(statuses, [202, 202, 402, 402, 402, 402])
            self.assertEqual(self.balance(self.node, user), price_of(1) - 1)
        assert_ledger(self, self.node.database)

    def test_cancelled_before_it_runs_is_refunded_once(self):
        node = self.start_node()
        self.pause(node, "BOOK_GENERATION")
        made = self.ordered(node, 2)
        path = f"/api/jobs/{made['job_id']}/cancel"
        answers = self.at_once(4, lambda _: node.post(path))
        self.assertEqual(sorted(x.status for x in answers),
                         [200, 409, 409, 409])
        self.assertEqual(self.entries_of(node, made["job_id"]),
                         [("charge", -price_of(2)), ("refund", price_of(2))])
        self.assertEqual(self.content(node, made["content_id"])["status"],
                         "CANCELLED")
        # Retried it is charged again, unless the money is gone.
        self.grant(node, -1)
        self.assert_problem(node.post(f"/api/jobs/{made['job_id']}/retry"),
                            402)
        self.assertEqual(node.job(made["job_id"])["status"], "CANCELLED")
        self.grant(node, 1)
        answer = node.post(f"/api/jobs/{made['job_id']}/retry")
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(self.balance(node), 0)
        self.resume(node, "BOOK_GENERATION")
        self.assertEqual(node.wait_for_job(made["job_id"])["status"],
                         "COMPLETED")
        assert_ledger(self, node.database)

    def test_what_is_not_there(self):
        made = self.ordered(self.node, 1, user_id="finder")
        self.node.wait_for_job(made["job_id"])
        base = "/api/contents/" + made["content_id"]
        self.assertEqual(self.node.get(base.upper().replace(
            "/API/CONTENTS", "/api/contents")).status, 200)
        for page in ("0", "2", "01", "-1", "x", "1.0", "99999999999999999999",
                     "%00", "1%2F", "１"):
            for method in ("GET", "HEAD", "POST"):
                with self.subTest(page=page, method=method):
                    answer = self.node.request(
                        method, f"{base}/pages/{page}/image"
                        if page.isascii() else f"{base}/pages/%EF%BC%91/image")
                    self.assertIn(answer.status, (400, 404))
        for path in (f"/api/contents/{NO_ID}", "/api/contents/x",
                     f"/api/contents/{NO_ID}/pages/1/image"):
            self.assert_problem(self.node.get(path), 404)
        self.assert_problem(self.node.post(
            f"/api/contents/{NO_ID}/pages/1/image", {}), 404)
        self.assertEqual(self.balance(self.node, "finder"), 0)

    def test_prices_are_settings(self):
        node = self.start_node({"prices.book": 0, "prices.page": 0,
                                "prices.redraw": 1})
        answer = self.order(node, 1)
        self.assertEqual((answer.status, answer.json["tokens_charged"],
                          answer.json["balance"]), (202, 0, 0))
        node.wait_for_job(answer.json["job_id"])
        page = f"/api/contents/{answer.json['content_id']}/pages/1/image"
        problem = self.assert_problem(node.post(page), 402,
                                      members=("price", "balance"))
        self.assertEqual((problem["price"], problem["balance"]), (1, 0))
        self.grant(node, 1)
        self.assertEqual(node.post(page).json["tokens_charged"], 1)


@both_stores
class Redraw(BookTest):
    def test_a_page_is_drawn_again(self):
        made = self.ordered(self.node, 2)
        page = f"/api/contents/{made['content_id']}/pages/2/image"
        node = self.node
        node.wait_for_job(made["job_id"])
        before = [self.image(node, made["content_id"], n) for n in (1, 2)]
        self.grant(node, REDRAW)
        answer = node.post(page, {"prompt": "with a red balloon"})
        self.assertEqual(answer.status, 202, answer)
        self.assertEqual(
            (answer.json["tokens_charged"], answer.json["balance"],
             answer.headers["Location"]),
            (REDRAW, 0, "/api/jobs/" + answer.json["job_id"]))
        job = node.wait_for_job(answer.json["job_id"])
        self.assertEqual(
            (job["status"], job["type"], job["target_id"], job["payload"]),
            ("COMPLETED", "IMAGE_REGEN", made["content_id"],
             {"page": 2, "prompt": "with a red balloon"}))
        after = [self.image(node, made["content_id"], n) for n in (1, 2)]
        self.assertEqual(before[0].body, after[0].body)
        self.assertNotEqual(before[1].body, after[1].body)
        self.assertNotEqual(before[1].headers["ETag"],
                            after[1].headers["ETag"])
        fresh = self.image(node, made["content_id"], 2,
                           {"If-None-Match": before[1].headers["ETag"]})
        self.assertEqual((fresh.status, fresh.body), (200, after[1].body))
        self.assert_problem(node.post(page, {}), 402,
                            members=("price", "balance"))
        for wrong in ({"prompt": ""}, {"prompt": " "}, {"prompt": 1},
                      {"prompt": "x" * 4001}, {"page": 1}, []):
            self.assert_problem(node.post(page, wrong), 400)
        assert_ledger(self, node.database)

    def test_not_before_the_book_is_finished(self):
        node = self.start_node()
        self.pause(node, "BOOK_GENERATION")
        made = self.ordered(node, 1)
        self.grant(node, REDRAW)
        page = f"/api/contents/{made['content_id']}/pages/1/image"
        self.assert_problem(node.post(page, {}), 409)
        self.assert_problem(node.get(page), 404)
        self.assertEqual(self.content(node, made["content_id"])["pages"], [])
        # Never written, and never will be.
        node.post(f"/api/jobs/{made['job_id']}/cancel")
        self.assert_problem(node.post(page, {}), 409)
        self.assertEqual(self.balance(node), REDRAW + price_of(1))


@both_stores
class Owners(BookTest):
    options = {"auth.mode": "api-key"}

    def key(self, *args: str) -> dict:
        done = run_reeve("keys", "create", "--name=x", *args,
                         "--database.url=" + self.node.database.url)
        return {"Authorization": "Bearer " + done.stdout.strip()}

    def test_books_are_their_owners(self):
        kim = self.key("--role=client", "--user=kim")
        lee = self.key("--role=client", "--user=lee")
        operator = self.key("--role=operator")
        self.grant(self.node, 100, "kim")
        self.assert_problem(self.order(self.node, 1), 401)
        self.assert_problem(self.order(self.node, 1, lee), 402,
                            members=("price", "balance"))
        self.assert_problem(self.order(self.node, 1, lee, user_id="kim"), 403)
        made = self.order(self.node, 1, kim)
        self.assertEqual(made.status, 202, made)
        job = f"/api/jobs/{made.json['job_id']}"
        while self.node.get(job + "?wait=5", kim).json["status"] in (
                "PENDING", "PROCESSING"):
            pass
        base = "/api/contents/" + made.json["content_id"]
        for rest in ("", "/pages/1/image"):
            self.assert_problem(self.node.get(base + rest, lee), 404)
            self.assertEqual(self.node.get(base + rest, kim).status, 200)
            self.assertEqual(self.node.get(base + rest, operator).status, 200)
        self.assert_problem(
            self.node.post(base + "/pages/1/image", {}, lee), 404)
        # Whoever draws it, the owner pays.
        self.assertEqual(self.node.post(base + "/pages/1/image", {},
                                        operator).json["balance"],
                         100 - price_of(1) - REDRAW)
        steps = self.node.get(job + "/steps", kim).json["steps"]
        self.assertEqual([x["name"] for x in steps], ["text", "image-1"])
        self.assert_problem(self.node.get(job + "/steps", lee), 404)
        # No way around the till.
        for kind in ("BOOK_GENERATION", "IMAGE_REGEN"):
            body = {"type": kind, "target_id": made.json["content_id"],
                    "payload": {"page": 1}}
            self.assert_problem(self.node.post("/api/jobs", body, kim), 403)
            self.assert_problem(self.node.post("/api/jobs/batch",
                                               {"jobs": [body]}, kim), 403)
        answer = self.node.post("/api/jobs", body, operator)
        self.assertEqual(answer.status, 202, answer)


@both_stores
class Providers(BookTest):
    """With the fake providers over real sockets."""

    def setUp(self):
        self.fake = BookProviders()
        self.addCleanup(self.fake.close)

    def test_pictures_are_what_the_provider_sent(self):
        node = self.start_node(self.fake.options)
        made = self.ordered(node, 3)
        job = node.wait_for_job(made["job_id"])
        self.assertEqual(job["status"], "COMPLETED", job)
        self.assertEqual(job["usage"]["images"], 3)
        self.assertGreater(job["usage"]["input_tokens"], 0)
        self.assertGreater(job["usage"]["output_tokens"], 0)
        sent = self.fake.calls("gemini")
        self.assertEqual([self.fake.page_of(x) for x in sent], [1, 2, 3])
        book = self.content(node, made["content_id"])
        for page, call in zip(book["pages"], sent):
            answer = self.image(node, made["content_id"], page["number"])
            self.assertEqual(answer.headers["Content-Type"], "image/png")
            self.assertEqual(answer.body[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual(hashlib.sha256(answer.body).hexdigest(),
                             call["image"])
            self.assertEqual(page["image"]["model"], call["model"])
            self.assertIsNone(answer.headers["Content-Security-Policy"])
            self.assertEqual(answer.headers["X-Content-Type-Options"],
                             "nosniff")
        steps = node.get(f"/api/jobs/{made['job_id']}/steps").json["steps"]
        self.assertEqual([x["name"] for x in steps],
                         ["text", "image-1", "image-2", "image-3"])
        self.assertEqual([x["provider"] for x in steps],
                         ["anthropic"] + ["gemini"] * 3)
        self.assertEqual(sum(x["usage"]["images"] for x in steps), 3)
        self.assertEqual(self.fake.count("messages"), 1)
        # One after another: no two pictures at once.
        for earlier, later in zip(sent, sent[1:]):
            self.assertLessEqual(earlier["ended"], later["time"])
        assert_ledger(self, node.database)

    def test_progress_is_pushed_page_by_page(self):
        node = self.start_node(self.fake.options)
        self.fake.fault(api="gemini", kind="delay", delay=0.2, count=None)
        made = self.ordered(node, 3)
        with node.sse(f"/api/jobs/{made['job_id']}/events") as stream:
            seen = [event.data["progress"] for event in stream]
        percents = [x["percent"] for x in seen]
        self.assertEqual(percents, sorted(percents))
        self.assertEqual(percents[-1], 100)
        messages = [x["message"] for x in seen]
        for page in (1, 2):
            self.assertIn(f"page {page} of 3 drawn", messages)

    def test_a_refusal_is_refunded(self):
        node = self.start_node(self.fake.options)
        self.fake.fault(api="messages", kind="refusal", count=None)
        made = self.ordered(node, 2)
        job = node.wait_for_job(made["job_id"])
        self.assertEqual(job["status"], "FAILED", job)
        self.assertEqual(self.entries_of(node, made["job_id"]),
                         [("charge", -price_of(2)), ("refund", price_of(2))])
        book = self.content(node, made["content_id"])
        self.assertEqual((book["status"], book["error_message"]),
                         ("FAILED", job["error_message"]))
        # The retry is paid again and takes up where it was.
        self.fake.reset()
        self.assertEqual(node.post(f"/api/jobs/{made['job_id']}/retry").status,
                         200)
        self.assertEqual(node.wait_for_job(made["job_id"])["status"],
                         "COMPLETED")
        self.assertEqual(self.balance(node), 0)
        assert_ledger(self, node.database)

    def test_a_failure_at_page_2_pays_once_for_the_rest(self):
        node = self.start_node({**self.fake.options,
                                "retry.backoff": "10ms"})
        self.fake.fault(api="gemini", kind="empty_text", match="page 2 of")
        made = self.ordered(node, 3)
        job = node.wait_for_job(made["job_id"])
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 2),
                         job)
        self.assertEqual(self.fake.count("messages"), 1)
        self.assertEqual([self.fake.count("gemini", page=n)
                          for n in (1, 2, 3)], [1, 2, 1])
        self.assertEqual(self.entries_of(node, made["job_id"]),
                         [("charge", -price_of(3))])

    def test_cancelled_while_it_is_drawn(self):
        node = self.start_node(self.fake.options)
        self.fake.fault(api="gemini", kind="hang", match="page 2 of")
        made = self.ordered(node, 3)
        self.fake.wait_for_call("gemini", page=2)
        began = time.monotonic()
        answer = node.post(f"/api/jobs/{made['job_id']}/cancel")
        self.assertEqual(answer.status, 200)
        job = node.wait_for_job(made["job_id"])
        self.assertLess(time.monotonic() - began, 2)
        self.assertEqual(job["status"], "CANCELLED")
        self.assertEqual(self.entries_of(node, made["job_id"]),
                         [("charge", -price_of(3)), ("refund", price_of(3))])
        self.assertEqual(self.fake.count("gemini", page=3), 0)
        assert_ledger(self, node.database)


if __name__ == "__main__":
    unittest.main()
