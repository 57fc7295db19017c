# tests/e2e/own_types.py -- job types that only the settings name: a webhook and
# programs, on the real node.
import base64
import hashlib
import hmac
import http.server
import json
import os
import threading
import time
import unittest

from harness import NodeTest, both_stores

SECRET = "whsec_" + base64.b64encode(b"a secret of 24 bytes....").decode()

# What it finds on its standard input and which descriptors it has.
ECHO = """
import json, os, sys
job = json.load(sys.stdin)
print("progress 40 half way", file=sys.stderr, flush=True)
json.dump({"payload": job["payload"], "type": os.environ["REEVE_JOB_TYPE"],
           "open": sorted(int(x) for x in os.listdir("/proc/self/fd")),
           "names": sorted(os.environ)}, sys.stdout)
"""

# Ignores the polite request, and its child keeps the pipes.
STUBBORN = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sleep", "600"])
with open(sys.argv[1], "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
print("progress 1 running", file=sys.stderr, flush=True)
time.sleep(600)
"""


class Receiver(http.server.ThreadingHTTPServer):
    """Answers webhooks and remembers what came."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[dict, bytes]] = []
        self.answers: list[tuple[int, dict, bytes]] = []
        self.url = f"http://127.0.0.1:{self.server_address[1]}/hook"
        self._thread = threading.Thread(target=self.serve_forever)
        self._thread.start()

    def close(self):
        self.shutdown()
        self._thread.join()
        self.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((dict(self.headers), body))
        status, headers, answer = (self.server.answers.pop(0)
                                   if self.server.answers
                                   else (200, {}, b'{"sent": true}'))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def is_alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@both_stores
class OwnTypes(NodeTest):

    @classmethod
    def setUpClass(cls):
        cls.receiver = Receiver()
        cls.addClassCleanup(cls.receiver.close)
        cls.pids = f"/tmp/reeve-own-types-{os.getpid()}-{cls.store}"
        cls.addClassCleanup(lambda: os.path.exists(cls.pids)
                            and os.unlink(cls.pids))
        python = "/usr/bin/python3"
        cls.options = {
            "retry.backoff": "20ms", "retry.max-backoff": "50ms",
            "types.HOOK.processor": "webhook",
            "types.HOOK.url": cls.receiver.url,
            "types.HOOK.secret": SECRET,
            "types.HOOK.addresses": "any",
            "types.PRIVATE.processor": "webhook",
            "types.PRIVATE.url": cls.receiver.url,
            "types.ECHO.processor": "command",
            "types.ECHO.command": json.dumps([python, "-c", ECHO]),
            "types.EXIT.processor": "command",
            "types.EXIT.command":
                '["/bin/sh", "-c", "echo why >&2; exit 65"]',
            "types.STUBBORN.processor": "command",
            "types.STUBBORN.command":
                json.dumps([python, "-c", STUBBORN, cls.pids]),
            "types.SLOW.processor": "command",
            "types.SLOW.command": '["/bin/sleep", "600"]',
            "types.SLOW.timeout": "200ms", "types.SLOW.max-attempts": 2}
        super().setUpClass()

    def run_job(self, type: str, **fields) -> dict:
        answer = self.node.post("/api/jobs", {"type": type, "target_id": "t",
                                              **fields})
        self.assertEqual(answer.status, 202, answer)
        return self.node.wait_for_job(answer.json["id"])

    # -- webhook ------------------------------------------------------------

    def test_a_webhook_is_signed_and_its_answer_the_result(self):
        self.receiver.requests.clear()
        job = self.run_job("HOOK", payload={"to": "누구"})
        self.assertEqual((job["status"], job["result"]),
                         ("COMPLETED", {"sent": True}))
        (headers, body), = self.receiver.requests
        sent = json.loads(body)
        self.assertEqual((sent["id"], sent["type"], sent["payload"]),
                         (job["id"], "HOOK", {"to": "누구"}))
        headers = {name.lower(): value for name, value in headers.items()}
        self.assertEqual(headers["idempotency-key"], job["id"])
        key = base64.b64decode(SECRET.removeprefix("whsec_"))
        signed = (f"{headers['webhook-id']}.{headers['webhook-timestamp']}."
                  .encode() + body)
        expected = base64.b64encode(
            hmac.new(key, signed, hashlib.sha256).digest()).decode()
        self.assertEqual(headers["webhook-signature"], "v1," + expected)

    def test_a_private_address_is_refused_unless_allowed(self):
        self.receiver.requests.clear()
        job = self.run_job("PRIVATE")
        self.assertEqual((job["status"], job["attempts"]), ("FAILED", 1))
        self.assertIn("addresses", job["error_message"])
        self.assertEqual(self.receiver.requests, [])

    def test_an_error_of_the_receiver_is_tried_again(self):
        self.receiver.answers[:] = [(500, {}, b"oops"), (503, {}, b"")]
        job = self.run_job("HOOK")
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 2))
        self.assertEqual(job["unspent"]["provider_down"], 1)

    # -- command ------------------------------------------------------------

    def test_a_program_gets_the_job_and_nothing_else(self):
        job = self.run_job("ECHO", payload={"a": [1, "한글"]})
        self.assertEqual(job["status"], "COMPLETED", job)
        result = job["result"]
        self.assertEqual(result["payload"], {"a": [1, "한글"]})
        self.assertEqual(result["type"], "ECHO")
        # Its three streams, and the folder it lists them from.
        self.assertLessEqual(set(result["open"]), {0, 1, 2, 3})
        self.assertNotIn("REEVE_DATABASE_URL", result["names"])

    def test_an_exit_code_is_an_outcome(self):
        job = self.run_job("EXIT")
        self.assertEqual((job["status"], job["attempts"]), ("FAILED", 1))
        self.assertIn("why", job["error_message"])

    def test_a_cancelled_program_is_gone_within_a_second(self):
        answer = self.node.post("/api/jobs", {"type": "STUBBORN",
                                              "target_id": "t"})
        job_id = answer.json["id"]
        self.node.wait_for_job(
            job_id, lambda job: job["progress"]["message"] == "running")
        with open(self.pids, encoding="ascii") as file:
            pids = [int(x) for x in file.read().split()]
        self.assertTrue(all(is_alive(pid) for pid in pids))
        self.node.post(f"/api/jobs/{job_id}/cancel")
        asked = time.monotonic()
        job = self.node.wait_for_job(job_id)
        took = time.monotonic() - asked
        self.assertEqual(job["status"], "CANCELLED")
        self.assertFalse(any(is_alive(pid) for pid in pids))
        # The promise is a second; the machine may be busy.
        self.assertLess(took, 3)

    def test_a_slow_program_times_out(self):
        job = self.run_job("SLOW")
        self.assertEqual((job["status"], job["attempts"]), ("FAILED", 2))
        outcomes = {x["outcome"] for x in self.node.attempts(job["id"])}
        self.assertEqual(outcomes, {"timed_out"})


if __name__ == "__main__":
    unittest.main()
