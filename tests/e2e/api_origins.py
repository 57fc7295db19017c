# tests/e2e/api_origins.py -- a loopback address is no protection against web
# pages: the checks of Host and Origin, and CORS.
import unittest

from raw_http import HOST, Http


class Browsers(Http):
    """What web pages of other origins can and cannot do."""

    options = {"http.allowed-origins": '["https://app.example"]',
               "http.allowed-hosts": '["jobs.example"]'}

    def ask(self, method="GET", host="localhost", origin=None, **headers):
        headers["Host"] = host
        if origin:
            headers["Origin"] = origin
        body = ('{"type":"CARD_ANALYSIS","target_id":"canary"}'
                if method == "POST" else None)
        return self.node.request(method, "/api/jobs", body, headers)

    def test_known_hosts(self):
        port = self.node.port
        for host in ("localhost", f"localhost:{port}", f"127.0.0.1:{port}",
                     "LOCALHOST", "jobs.example", "jobs.example:443",
                     f"[::1]:{port}"):
            self.assertEqual(self.ask(host=host).status, 200, host)

    def test_other_hosts(self):
        before = self.canaries()
        for host in ("evil.example", "localhost.evil.example", "127.0.0.2",
                     "jobs.example.evil", "[::2]", "localhost.", "0.0.0.0",
                     "127.1", "localhost@evil.example"):
            with self.subTest(host):
                answer = self.ask("POST", host=host)
                self.assert_problem(answer, 421 if "@" not in host else
                                    answer.status)
                self.assertIn(answer.status, (400, 421))
        answers = self.send(b"GET http://evil.test/healthz HTTP/1.1\r\n"
                            + HOST + b"\r\n")
        self.assertEqual(answers[0][0], 421)
        self.assertEqual(self.canaries(), before)

    def test_foreign_origins_change_nothing(self):
        before = self.canaries()
        for origin in ("https://evil.example", "null", "http://app.example",
                       "https://app.example.evil", "https://app.example:8443",
                       "http://localhost:1", "file://"):
            with self.subTest(origin):
                answer = self.ask("POST", origin=origin)
                self.assert_problem(answer, 403)
                self.assertIsNone(
                    answer.headers["Access-Control-Allow-Origin"])
                answer = self.ask(origin=origin)
                self.assertEqual(answer.status, 200)
                self.assertIsNone(
                    answer.headers["Access-Control-Allow-Origin"])
        self.assertEqual(self.canaries(), before)

    def test_allowed_origin(self):
        for answer in (self.ask("POST", origin="https://app.example"),
                       self.ask("PUT", origin="https://app.example"),
                       self.ask(origin="https://app.example")):
            self.assertEqual(answer.headers["Access-Control-Allow-Origin"],
                             "https://app.example")
            self.assertEqual(answer.headers["Vary"], "Origin")
            self.assertIn("ETag",
                          answer.headers["Access-Control-Expose-Headers"])
        self.assertEqual(self.ask().headers["Vary"], "Origin")

    def test_same_origin(self):
        host = f"127.0.0.1:{self.node.port}"
        answer = self.ask("POST", host=host, origin="http://" + host)
        self.assertEqual(answer.status, 202, answer)
        self.node.wait_for_job(answer.json["id"])

    def test_preflight(self):
        answer = self.ask("OPTIONS", origin="https://app.example", **{
            "Access-Control-Request-Method": "POST",
            "Access-Control-Request-Headers": "content-type"})
        self.assertEqual(answer.status, 204, answer)
        self.assertEqual(answer.headers["Access-Control-Allow-Origin"],
                         "https://app.example")
        self.assertIn("POST", answer.headers["Access-Control-Allow-Methods"])
        for name in ("Content-Type", "Authorization", "Last-Event-ID",
                     "Idempotency-Key", "traceparent", "tracestate"):
            self.assertIn(name,
                          answer.headers["Access-Control-Allow-Headers"])
        answer = self.ask("OPTIONS", origin="https://evil.example", **{
            "Access-Control-Request-Method": "POST"})
        for name in answer.headers:
            self.assertFalse(name.lower().startswith("access-control"), name)


if __name__ == "__main__":
    unittest.main()
