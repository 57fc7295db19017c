# tests/e2e/api_auth.py -- auth.mode = api-key: who gets in, and sees what.
import unittest

from harness import NodeTest, both_stores, run_reeve, time_in

NO_ID = "00000000-0000-7000-8000-000000000000"

# All that needs a key, with what an operator with nothing to see gets.
ROUTES = [
    ("POST", "/api/jobs", 400), ("POST", "/api/jobs/batch", 400),
    ("GET", "/api/jobs", 200), ("GET", f"/api/jobs/{NO_ID}", 404),
    ("GET", f"/api/jobs/{NO_ID}/attempts", 404),
    ("GET", f"/api/jobs/{NO_ID}/events", 404),
    ("POST", f"/api/jobs/{NO_ID}/cancel", 404),
    ("POST", f"/api/jobs/{NO_ID}/retry", 404),
    ("POST", "/api/scraps", 400), ("GET", f"/api/scraps/{NO_ID}", 404),
    ("DELETE", f"/api/scraps/{NO_ID}", 404),
    ("GET", "/api/cards?scrap_id=x", 200),
    ("GET", f"/api/cards/{NO_ID}", 404), ("GET", "/metrics", 200),
    ("GET", "/api/actors", 200), ("GET", "/api/stats", 200),
    ("POST", "/api/actors/none/restart", 404),
    ("GET", f"/api/jobs/{NO_ID}/steps", 404),
    ("GET", f"/api/jobs/{NO_ID}/explain", 404),
    ("POST", "/api/jobs/retry", 400), ("GET", "/api/errors", 200),
    ("GET", "/api/types", 200), ("POST", "/api/types/NONE/pause", 404),
    ("POST", "/api/types/NONE/resume", 404), ("GET", "/api/providers", 200),
    ("POST", "/api/providers/a%2Fb/resume", 404),
    ("GET", "/api/recall?q=x", 200), ("POST", "/api/daily-summaries", 400),
    ("GET", f"/api/daily-summaries/{NO_ID}", 404),
    ("POST", f"/api/daily-summaries/{NO_ID}/til", 404),
    ("POST", f"/api/daily-summaries/{NO_ID}/recall", 404),
    ("POST", "/api/generate", 400), ("GET", f"/api/contents/{NO_ID}", 404),
    ("GET", f"/api/contents/{NO_ID}/pages/1/image", 404),
    ("POST", f"/api/contents/{NO_ID}/pages/1/image", 404),
    ("GET", "/api/contents", 200), ("GET", "/api/cards", 200),
    ("GET", "/api/stats/history", 200),
    ("GET", "/api/account", 200), ("GET", "/api/usage", 200),
    ("GET", "/nowhere", 404), ("PUT", "/api/jobs", 405),
]
OPERATOR_ONLY = (
    "/metrics", "/api/actors", "/api/actors/none/restart", "/api/stats",
    "/api/jobs/retry", "/api/errors", "/api/types", "/api/types/NONE/pause",
    "/api/types/NONE/resume", "/api/providers",
    "/api/providers/a%2Fb/resume", "/api/contents", "/api/cards",
    "/api/stats/history", "/api/stats/events")


@both_stores
class Keys(NodeTest):
    options = {"auth.mode": "api-key"}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.operator = cls.create("--role=operator", "--name=ops")
        cls.kim = cls.create("--role=client", "--user=kim", "--name=app")
        cls.lee = cls.create("--role=client", "--user=lee", "--name=app")

    @classmethod
    def keys(cls, *args: str):
        return run_reeve("keys", *args,
                         f"--database.url={cls.node.database.url}")

    @classmethod
    def create(cls, *args: str) -> str:
        done = cls.keys("create", *args)
        if done.returncode != 0:
            raise AssertionError(done)
        return done.stdout.strip()

    def ask(self, key, method, path, body=None):
        headers = {"Authorization": "Bearer " + key} if key else {}
        if method == "POST" and body is None:
            body = {}
        return self.node.request(method, path, body, headers)

    def add(self, key, **fields):
        return self.ask(key, "POST", "/api/jobs", {
            "type": "CARD_ANALYSIS", "target_id": "t",
            "run_at": time_in(3600), **fields})

    def test_no_key_no_answer(self):
        schemes = ["", "Bearer", "Bearer ", "Basic " + self.kim, self.kim,
                   "Bearer x", "Bearer " + self.kim[:-1],
                   "Bearer " + self.kim + "0", "Bearer " + self.kim.upper(),
                   "Bearer  " + self.kim, f"Bearer {self.kim} {self.kim}",
                   f"Bearer {self.kim}, Bearer {self.kim}",
                   "Bearer ' OR 1=1 --", "Bearer " + "x" * 5000]
        for method, path, _ in ROUTES + [("GET", "/api/events", 200),
                                         ("GET", "/api/stats/events", 200)]:
            for value in schemes:
                headers = {"Authorization": value} if value else {}
                body = {} if method == "POST" else None
                answer = self.node.request(method, path, body, headers)
                with self.subTest(method=method, path=path, value=value):
                    self.assert_problem(answer, 401)
                    self.assertEqual(answer.headers["WWW-Authenticate"],
                                     "Bearer")
                    self.assertNotIn(self.kim.encode(), answer.body)
        answer = self.node.get("/api/jobs?key=" + self.operator)
        self.assert_problem(answer, 401)

    def test_an_operator_gets_everywhere(self):
        for method, path, status in ROUTES:
            with self.subTest(method + " " + path):
                answer = self.ask(self.operator, method, path)
                self.assertEqual(answer.status, status, answer)

    def test_the_scheme_has_no_case(self):
        for scheme in ("bearer", "BEARER"):
            answer = self.node.get("/api/jobs", {
                "Authorization": f"{scheme} {self.kim}"})
            self.assertEqual(answer.status, 200)

    def test_probes_need_no_key(self):
        for path in ("/healthz", "/readyz"):
            self.assertEqual(self.node.get(path).status, 200)
        for path in ("/healthz/", "/readyz/x", "//healthz", "/%2fhealthz",
                     "/healthz/../metrics", "/healthz%2f..%2fmetrics",
                     "/HEALTHZ", "/healthz;/metrics", "/healthz%00"):
            with self.subTest(path):
                self.assertIn(self.node.get(path).status, (400, 401))

    def test_a_client_is_no_operator(self):
        for method, path, status in ROUTES + [
                ("GET", "/api/stats/events", 200)]:
            with self.subTest(method + " " + path):
                answer = self.ask(self.kim, method, path)
                self.assertEqual(
                    answer.status, 403 if path in OPERATOR_ONLY else status)
        # A stream: it would not end for who may have it.
        self.assert_problem(
            self.ask(self.kim, "GET", "/api/actors/events"), 403)

    def test_a_client_sees_its_own(self):
        own, foreign = self.add(self.kim).json, self.add(self.lee).json
        nobody = self.add(self.operator).json
        self.assertEqual((own["user_id"], foreign["user_id"],
                          nobody["user_id"]), ("kim", "lee", None))
        self.assertEqual(
            self.ask(self.kim, "GET", "/api/jobs/" + own["id"]).status, 200)
        for job in (foreign, nobody):
            path = "/api/jobs/" + job["id"]
            for method, rest in (("GET", ""), ("GET", "?wait=5"),
                                 ("GET", "/attempts"), ("GET", "/events"),
                                 ("POST", "/cancel"), ("POST", "/retry")):
                answer = self.ask(self.kim, method, path + rest)
                missing = self.ask(self.kim, method,
                                   "/api/jobs/" + NO_ID + rest)
                self.assertEqual((answer.status, answer.body),
                                 (404, missing.body), rest)
            self.assertEqual(
                self.ask(self.operator, "GET", path).json["status"],
                "PENDING")
        for query in ("", "?user_id=lee", "?user_id="):
            listed = self.ask(self.kim, "GET", "/api/jobs" + query).json
            self.assertEqual({x["user_id"] for x in listed["jobs"]}
                             - {"kim"}, set())

    def test_a_client_makes_its_own(self):
        self.assertEqual(self.add(self.kim, user_id="kim").status, 202)
        self.assert_problem(self.add(self.kim, user_id="lee"), 403)
        answer = self.ask(self.kim, "POST", "/api/jobs/batch", {"jobs": [
            {"type": "CARD_ANALYSIS", "target_id": "t", "user_id": "lee"}]})
        self.assert_problem(answer, 403)

    def test_scraps_and_cards_are_their_makers(self):
        made = self.ask(self.kim, "POST", "/api/scraps",
                        {"content": "A private text, analysed for kim."}).json
        job = self.ask(self.kim, "GET",
                       f"/api/jobs/{made['job_id']}?wait=10").json
        while job["status"] not in ("COMPLETED", "FAILED"):
            job = self.ask(self.kim, "GET",
                           f"/api/jobs/{made['job_id']}?wait=10").json
        cards = f"/api/cards?scrap_id={made['scrap_id']}"
        [card] = self.ask(self.kim, "GET", cards).json["cards"]
        self.assertEqual(card["user_id"], "kim")
        self.assertEqual(self.ask(self.lee, "GET", cards).json["cards"], [])
        for method, path in (("GET", f"/api/scraps/{made['scrap_id']}"),
                             ("DELETE", f"/api/scraps/{made['scrap_id']}"),
                             ("GET", f"/api/cards/{card['id']}")):
            self.assert_problem(self.ask(self.lee, method, path), 404)
        self.assertEqual(
            self.ask(self.kim, "GET", f"/api/cards/{card['id']}").status, 200)

    def test_the_feed_shows_a_client_its_own(self):
        for key, path in ((self.kim, "/api/events"),
                          (self.kim, "/api/events?user_id=lee"),
                          (self.operator, "/api/events?user_id=kim")):
            with self.node.sse(path, {"Authorization": "Bearer " + key}
                               ) as feed:
                self.add(self.lee)
                own = self.add(self.kim).json
                self.assertEqual(feed.next().data["id"], own["id"])

    def test_unique_and_idempotency_keys_of_others(self):
        key = {"Idempotency-Key": "shared"}
        body = {"type": "CARD_ANALYSIS", "target_id": "t",
                "run_at": time_in(3600)}
        answers = [self.node.post("/api/jobs", body, {
            **key, "Authorization": "Bearer " + who})
            for who in (self.kim, self.lee, self.operator)]
        self.assertEqual([x.status for x in answers], [202] * 3)
        self.assertEqual(len({x.json["id"] for x in answers}), 3)
        # One unique_key of two users: the other's job is never shown.
        first = self.add(self.kim, unique_key="shared")
        second = self.add(self.lee, unique_key="shared")
        self.assertEqual(first.status, 202)
        self.assert_problem(second, 409)
        self.assertNotIn(first.json["id"].encode(), second.body)
        batch = self.ask(self.lee, "POST", "/api/jobs/batch", {"jobs": [
            {**body, "unique_key": "shared"}, body]})
        self.assertEqual(batch.status, 202, batch)
        self.assertNotIn(b"kim", batch.body)
        self.assertEqual([x["deduplicated"] for x in batch.json["jobs"]],
                         [True, False])

    def test_a_revoked_key_ends(self):
        key = self.create("--role=client", "--user=kim", "--name=short-lived")
        self.assertEqual(self.ask(key, "GET", "/api/jobs").status, 200)
        listed = self.keys("list").stdout
        self.assertNotIn(key, listed)
        [line] = [x for x in listed.splitlines() if "short-lived" in x]
        done = self.keys("revoke", line.split()[0])
        self.assertEqual(done.returncode, 0, done)
        self.assert_problem(self.ask(key, "GET", "/api/jobs"), 401)
        self.assertNotEqual(self.keys("revoke", NO_ID).returncode, 0)

    def test_keys_are_never_stored_or_logged(self):
        stored = str(self.node.database.sql("SELECT * FROM api_keys"))
        for key in (self.operator, self.kim, self.lee):
            self.assertNotIn(key, stored)
            self.assertNotIn(key.removeprefix("reeve_"), stored)
            self.assertNotIn(key, self.node.log)

    def test_wrong_commands(self):
        for args in (("create", "--role=client", "--name=x"),
                     ("create", "--role=king", "--name=x"),
                     ("create", "--role=operator", "--user=x", "--name=x"),
                     ("create", "--role=operator", "--nmae=x"),
                     ("drop",), ()):
            with self.subTest(args):
                done = self.keys(*args)
                self.assertEqual((done.returncode, done.stdout), (2, ""),
                                 done)
                self.assertTrue(done.stderr)

    def test_browsers_ask_before_they_have_a_key(self):
        node = self.start_node({
            "http.allowed-origins": '["https://app.example"]'})
        preflight = {"Access-Control-Request-Method": "POST"}
        answer = node.request("OPTIONS", "/api/jobs", headers={
            "Origin": "https://app.example", **preflight})
        self.assertEqual(answer.status, 204)
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"],
                         "https://app.example")
        answer = node.request("OPTIONS", "/api/jobs", headers={
            "Origin": "https://evil.example", **preflight})
        self.assertIsNone(answer.headers["Access-Control-Allow-Origin"])
        answer = node.post("/api/jobs", {}, {"Origin": "https://app.example"})
        self.assert_problem(answer, 401)
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"],
                         "https://app.example")


if __name__ == "__main__":
    unittest.main()
