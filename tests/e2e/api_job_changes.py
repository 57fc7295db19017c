# tests/e2e/api_job_changes.py -- what becomes of a job, and looking at it.
import threading
import time
import unittest

from harness import FINAL, NodeTest, both_stores, quote, time_in, time_of

NO_ID = "00000000-0000-7000-8000-000000000000"
GONE = "Target data not found (Already deleted)"


@both_stores
class Look(NodeTest):
    def test_etag_saves_the_body(self):
        job = self.node.add_job(run_at=time_in(3600))
        path = "/api/jobs/" + job["id"]
        etag = self.node.get(path).headers["ETag"]
        for tags in (etag, f'"x", {etag}', "*", "W/" + etag):
            answer = self.node.get(path, {"If-None-Match": tags})
            self.assertEqual(answer.status, 304, tags)
            self.assertEqual(answer.headers["ETag"], etag)
            self.assertEqual(answer.body, b"")
        for tags in ('"0"', '"x"', etag.strip('"')):
            answer = self.node.get(path, {"If-None-Match": tags})
            self.assertEqual(answer.status, 200, tags)
        self.node.post(path + "/cancel")
        answer = self.node.get(path, {"If-None-Match": etag})
        self.assertEqual(answer.status, 200)
        self.assertNotEqual(answer.headers["ETag"], etag)

    def test_head_is_get_without_a_body(self):
        job = self.node.add_job(run_at=time_in(3600))
        for path in ("/api/jobs/" + job["id"], "/api/jobs", "/healthz",
                     "/api/jobs/" + NO_ID):
            head = self.node.request("HEAD", path)
            get = self.node.get(path)
            self.assertEqual(head.status, get.status)
            self.assertEqual(head.body, b"")
            for name in ("Content-Length", "Content-Type", "ETag"):
                self.assertEqual(head.headers[name], get.headers[name], name)

    def test_what_is_not_there(self):
        for bad in (NO_ID, "x", "1", "%00", "..%2f..%2fetc", "'",
                    "%F0%9F%98%80", NO_ID.upper(), NO_ID + "0",
                    "{" + NO_ID + "}", "x" * 300):
            for method, path in (
                    ("GET", "/api/jobs/{}"), ("GET", "/api/jobs/{}?wait=5"),
                    ("GET", "/api/jobs/{}/attempts"),
                    ("GET", "/api/jobs/{}/events"),
                    ("POST", "/api/jobs/{}/cancel"),
                    ("POST", "/api/jobs/{}/retry"),
                    ("GET", "/api/scraps/{}"), ("DELETE", "/api/scraps/{}"),
                    ("GET", "/api/cards/{}")):
                with self.subTest(path=path, id=bad):
                    answer = self.node.request(method, path.format(bad))
                    # An id that no UTF-8 text can be is malformed HTTP.
                    self.assert_problem(answer, 400 if bad == "%00" else 404)

    def test_paths_that_are_not_there(self):
        for path in ("/api", "/api/", "/API/jobs", "/api/jobs/", "//api/jobs",
                     "/api/job", "/api%2Fjobs", "/api/jobs;x", "/favicon.ico"):
            with self.subTest(path):
                self.assert_problem(self.node.get(path), 404)

    def test_wrong_methods(self):
        for method, path, allowed in (
                ("PUT", "/api/jobs", "GET, HEAD, OPTIONS, POST"),
                ("DELETE", "/api/jobs", "GET, HEAD, OPTIONS, POST"),
                ("POST", f"/api/jobs/{NO_ID}", "GET, HEAD, OPTIONS"),
                ("GET", f"/api/jobs/{NO_ID}/cancel", "OPTIONS, POST"),
                ("HEAD", f"/api/jobs/{NO_ID}/retry", "OPTIONS, POST"),
                ("PATCH", f"/api/scraps/{NO_ID}",
                 "DELETE, GET, HEAD, OPTIONS"),
                ("get", "/healthz", "GET, HEAD, OPTIONS"),
                ("TRACE", "/healthz", "GET, HEAD, OPTIONS")):
            with self.subTest(method + " " + path):
                answer = self.node.request(method, path)
                self.assertEqual(answer.headers["Allow"], allowed, answer)
                self.assertEqual(answer.status, 405)
                if method != "HEAD":
                    self.assert_problem(answer, 405)

    def test_options(self):
        for path, allowed in (("/api/jobs", "GET, HEAD, OPTIONS, POST"),
                              ("/healthz", "GET, HEAD, OPTIONS"),
                              ("*", "GET, HEAD, POST, DELETE, OPTIONS")):
            answer = self.node.request("OPTIONS", path)
            self.assertEqual((answer.status, answer.body), (204, b""))
            self.assertEqual(answer.headers["Allow"], allowed)
        self.assert_problem(self.node.request("OPTIONS", "/nowhere"), 404)


@both_stores
class List(NodeTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.failed = [cls.node.add_job(f"gone-{i % 2}", user_id=f"u{i % 3}")
                      for i in range(6)]
        for job in cls.failed:
            cls.node.wait_for_job(job["id"])

    def ids(self, query: str) -> list[str]:
        answer = self.node.get("/api/jobs?" + query)
        self.assertEqual(answer.status, 200, answer)
        return [job["id"] for job in answer.json["jobs"]]

    def test_newest_first(self):
        expected = [job["id"] for job in reversed(self.failed)]
        self.assertEqual(self.ids("status=FAILED"), expected)
        self.assertEqual(self.ids("status=FAILED&limit=2"), expected[:2])

    def test_filters(self):
        def expect(query, wanted):
            self.assertEqual(self.ids(query), [
                job["id"] for job in reversed(self.failed) if wanted(job)])

        expect("target_id=gone-1", lambda x: x["target_id"] == "gone-1")
        expect("user_id=u2", lambda x: x["user_id"] == "u2")
        expect("user_id=u1&target_id=gone-0&status=FAILED&type=CARD_ANALYSIS",
               lambda x: (x["user_id"], x["target_id"]) == ("u1", "gone-0"))
        expect("type=OTHER", lambda x: False)
        expect("target_id=", lambda x: False)
        expect("user_id=%27%20OR%201%3D1%20--", lambda x: False)

    def test_error_is_a_like_pattern(self):
        every = [job["id"] for job in reversed(self.failed)]
        for pattern, wanted in ((GONE, every), ("%not found%", every),
                                ("Target_data%", every), ("%found", []),
                                ("%NOT FOUND%", []), ("", []), ("%", every),
                                (r"%\%%", []), ("%(Already deleted)", every)):
            with self.subTest(pattern):
                self.assertEqual(
                    self.ids("status=FAILED&error=" + quote(pattern)), wanted)

    def test_statuses(self):
        waiting = self.node.add_job("elsewhere", run_at=time_in(3600))

        def expect(status, ids):
            self.assertEqual(
                self.ids(f"target_id=elsewhere&status={status}"), ids)

        expect("PENDING", [waiting["id"]])
        self.node.post(f"/api/jobs/{waiting['id']}/cancel")
        expect("CANCELLED", [waiting["id"]])
        for status in ("PENDING", "PROCESSING", "COMPLETED", "FAILED"):
            expect(status, [])

    def test_bad_queries(self):
        for query, name in (("status=failed", "status"), ("status=", "status"),
                            ("limit=0", "limit"), ("limit=201", "limit"),
                            ("limit=-1", "limit"), ("limit=x", "limit"),
                            ("limit=%2B5", "limit"), ("cursor=0", "cursor"),
                            ("cursor=abc", "cursor"), ("limit=1e2", "limit"),
                            ("cursor=99999999999999999999", "cursor"),
                            ("state=FAILED", "state")):
            with self.subTest(query):
                self.assert_problem(self.node.get("/api/jobs?" + query), 400,
                                    name)

    def test_pages_have_no_gap_and_no_repeat(self):
        target = "paged"
        answer = self.node.post("/api/jobs/batch", {"jobs": [
            {"type": "CARD_ANALYSIS", "target_id": target,
             "run_at": time_in(3600)} for _ in range(120)]})
        expected = [x["id"] for x in reversed(answer.json["jobs"])]
        seen, cursor, pages = [], "", 0
        while cursor is not None:
            page = self.node.get(f"/api/jobs?target_id={target}&limit=50"
                                 + (f"&cursor={cursor}" if cursor else "")
                                 ).json
            seen += [job["id"] for job in page["jobs"]]
            cursor = page["next_cursor"]
            pages += 1
            # What comes meanwhile is newer, hence on no later page.
            self.node.add_job(target, run_at=time_in(3600))
        self.assertEqual(pages, 3)
        self.assertEqual(seen, expected)
        # A page that ends exactly with the list has no next one.
        exact = self.node.get(f"/api/jobs?target_id={target}&limit=123").json
        self.assertEqual(len(exact["jobs"]), 123)
        self.assertIsNone(exact["next_cursor"])


@both_stores
class LongPoll(NodeTest):
    def poll(self, job: dict, wait: int, headers=None):
        began = time.monotonic()
        answer = self.node.get(f"/api/jobs/{job['id']}?wait={wait}", headers)
        return answer, time.monotonic() - began

    def test_returns_on_a_change(self):
        job = self.node.add_job(run_at=time_in(3600))
        path = f"/api/jobs/{job['id']}/cancel"
        timer = threading.Timer(0.3, self.node.post, (path,))
        timer.start()
        answer, took = self.poll(job, 20)
        timer.join()
        self.assertEqual((answer.status, answer.json["status"]),
                         (200, "CANCELLED"))
        self.assertGreater(answer.json["version"], job["version"])
        self.assertTrue(0.2 < took < 3, took)

    def test_returns_at_its_end(self):
        job = self.node.add_job(run_at=time_in(3600))
        answer, took = self.poll(job, 1)
        self.assertEqual((answer.status, answer.json["status"]),
                         (200, "PENDING"))
        self.assertTrue(0.9 < took < 3, took)
        etag = answer.headers["ETag"]
        answer, took = self.poll(job, 1, {"If-None-Match": etag})
        self.assertEqual((answer.status, answer.body), (304, b""))
        self.assertEqual(answer.headers["ETag"], etag)
        self.assertTrue(0.9 < took < 3, took)

    def test_returns_at_once(self):
        waiting = self.node.add_job(run_at=time_in(3600))
        ended = self.node.wait_for_job(self.node.add_job()["id"])
        for job, wait, headers in ((waiting, 20, {"If-None-Match": '"0"'}),
                                   (waiting, 0, None), (ended, 20, None)):
            answer, took = self.poll(job, wait, headers)
            self.assertEqual(answer.status, 200)
            self.assertLess(took, 2)
        etag = f'"{ended["version"]}"'
        answer, took = self.poll(ended, 20, {"If-None-Match": etag})
        self.assertEqual(answer.status, 304)
        self.assertLess(took, 2)

    def test_bad_waits(self):
        job = self.node.add_job(run_at=time_in(3600))
        for wait in ("-1", "61", "x", "", "1.5", "99999999999999999999"):
            answer = self.node.get(f"/api/jobs/{job['id']}?wait={wait}")
            self.assert_problem(answer, 400, "wait")

    def test_a_client_that_leaves_costs_nothing(self):
        job = self.node.add_job(run_at=time_in(3600))
        for _ in range(20):
            with self.node.connect() as client:
                client.sendall(f"GET /api/jobs/{job['id']}?wait=60 HTTP/1.1\r\n"
                               "Host: localhost\r\n\r\n".encode())
        answer = self.node.post(f"/api/jobs/{job['id']}/cancel")
        self.assertEqual(answer.json["status"], "CANCELLED")


@both_stores
class Changes(NodeTest):
    options = {"workers": 1, "queue.poll-interval": "1h",
               "retry.backoff": "20ms", "retry.jitter": 0}

    def test_cancel(self):
        job = self.node.add_job(run_at=time_in(3600))
        path = f"/api/jobs/{job['id']}"
        answer = self.node.post(path + "/cancel")
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.json["status"], "CANCELLED")
        self.assertEqual(answer.headers["ETag"],
                         f'"{answer.json["version"]}"')
        time_of(answer.json["finished_at"])
        self.assert_problem(self.node.post(path + "/cancel"), 409)
        self.assertEqual(self.node.attempts(job["id"]), [])

    def test_cancel_of_finished_jobs(self):
        failed = self.node.wait_for_job(self.node.add_job()["id"])
        scrap = self.node.add_scrap("One sentence is enough for a card.")
        completed = self.node.wait_for_job(scrap["job_id"], "COMPLETED")
        for job in (failed, completed):
            answer = self.node.post(f"/api/jobs/{job['id']}/cancel")
            self.assert_problem(answer, 409, job["status"])
            self.assertEqual(self.node.job(job["id"]), job)

    def test_cancel_while_it_runs(self):
        fake = self.start_analysis()
        node = self.start_node(fake.options)
        scrap = node.add_scrap("!fault hang\nThis never ends by itself.")
        node.wait_for_job(scrap["job_id"], "PROCESSING")
        answer = node.post(f"/api/jobs/{scrap['job_id']}/cancel")
        self.assertEqual(answer.status, 200, answer)
        job = node.wait_for_job(scrap["job_id"], timeout=10)
        self.assertEqual(job["status"], "CANCELLED")
        # The slot is free again.
        other = node.add_scrap("This one ends.")
        node.wait_for_job(other["job_id"], "COMPLETED")

    def test_retry(self):
        job = self.node.wait_for_job(self.node.add_job()["id"], "FAILED")
        with self.node.sse("/api/events", timeout=10) as feed:
            answer = self.node.post(f"/api/jobs/{job['id']}/retry")
            self.assertEqual(answer.status, 200, answer)
            again = answer.json
            self.assertEqual((again["status"], again["attempts"],
                              again["finished_at"]), ("PENDING", 0, None))
            states = [feed.next().data["status"]]
            while states[-1] not in FINAL:
                states.append(feed.next().data["status"])
        self.assertEqual(states[0], "PENDING")
        self.assertEqual((states[-2], states[-1]), ("PROCESSING", "FAILED"))
        self.assertEqual([x["run"] for x in self.node.attempts(job["id"])],
                         [1, 2])

    def test_retry_of_a_cancelled_job(self):
        job = self.node.add_job(run_at=time_in(3600))
        path = f"/api/jobs/{job['id']}"
        self.node.post(path + "/cancel")
        answer = self.node.post(path + "/retry")
        self.assertEqual((answer.status, answer.json["status"]),
                         (200, "PENDING"))
        self.node.wait_for_job(job["id"], "FAILED")

    def test_retry_where_it_makes_no_sense(self):
        waiting = self.node.add_job(run_at=time_in(3600))
        scrap = self.node.add_scrap("Another sentence for another card.")
        self.node.wait_for_job(scrap["job_id"], "COMPLETED")
        for job_id in (waiting["id"], scrap["job_id"]):
            self.assert_problem(self.node.post(f"/api/jobs/{job_id}/retry"),
                                409)

    def test_retry_when_another_has_the_unique_key(self):
        old = self.node.wait_for_job(
            self.node.add_job(unique_key="mine")["id"], "FAILED")
        self.node.add_job(unique_key="mine", run_at=time_in(3600))
        self.assert_problem(self.node.post(f"/api/jobs/{old['id']}/retry"),
                            409)

    def test_attempts(self):
        fake = self.start_analysis()
        fake.mode("not_json")
        node = self.start_node(fake.options)
        scrap = node.add_scrap("An answer that is no JSON.")
        job = node.wait_for_job(scrap["job_id"], "FAILED")
        self.assertEqual((job["attempts"], job["max_attempts"]), (3, 3))
        runs = node.attempts(job["id"])
        self.assertEqual([x["run"] for x in runs], [1, 2, 3])
        for run in runs:
            self.assertEqual(run["node"], "node-1")
            self.assertTrue(run["error"])
            self.assertTrue(run["why"])
            self.assertLessEqual(time_of(run["started_at"]),
                                 time_of(run["finished_at"]))
        self.assertEqual([x["decision"] for x in runs],
                         ["retry", "retry", "fail"])
        self.assertEqual(runs[2]["error"], job["error_message"])
        self.assertIsNone(runs[2]["next_run_at"])
        # No run starts before it was promised.
        for run, following in zip(runs, runs[1:]):
            self.assertLessEqual(time_of(run["next_run_at"]),
                                 time_of(following["started_at"]))
        self.assertEqual(len(fake.calls()), 3)

    def test_a_second_try_may_do(self):
        fake = self.start_analysis()
        fake.mode("not_json", times=1)
        node = self.start_node(fake.options)
        scrap = node.add_scrap("The first answer is no JSON, the next is.")
        job = node.wait_for_job(scrap["job_id"], "COMPLETED")
        self.assertEqual((job["attempts"], job["error_message"]), (2, None))
        runs = node.attempts(job["id"])
        self.assertEqual([x["decision"] for x in runs], ["retry"])

    def test_lower_priorities_run_first(self):
        fake = self.start_analysis()
        node = self.start_node(fake.options)
        blocker = node.add_scrap("!fault ok;delay=0.7\nIt keeps the slot.")
        node.wait_for_job(blocker["job_id"], "PROCESSING")
        with node.sse("/api/events", timeout=15) as feed:
            for priority in (5, -1, 0, 1000, -1000, 0, 5):
                node.add_job(f"priority-{priority}", priority=priority)
            started = []
            while len(started) < 7:
                job = feed.next().data
                if job["status"] == "PROCESSING" and job["id"] not in started \
                        and job["id"] != blocker["job_id"]:
                    started.append(job["id"])
        jobs = [node.job(x) for x in started]
        self.assertEqual([x["priority"] for x in jobs],
                         [-1000, -1, 0, 0, 5, 5, 1000])
        # Of equal ones the older.
        created = [x["created_at"] for x in jobs]
        self.assertLessEqual(created[2], created[3])
        self.assertLessEqual(created[4], created[5])

    def test_runs_at_its_time(self):
        run_at = time_in(0.8)
        job = self.node.add_job(run_at=run_at)
        self.assertEqual(job["status"], "PENDING")
        ended = self.node.wait_for_job(job["id"], timeout=10)
        late = (time_of(ended["started_at"]) - time_of(run_at)).total_seconds()
        self.assertGreaterEqual(late, 0)
        self.assertLess(late, 1.5)

    def test_a_time_in_the_past_is_due_at_once(self):
        job = self.node.add_job(run_at="2001-01-01T00:00:00Z")
        self.node.wait_for_job(job["id"], timeout=5)


if __name__ == "__main__":
    unittest.main()
