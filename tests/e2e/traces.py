# tests/e2e/traces.py -- W3C Trace Context: what a job came with goes on to all
# that it calls, and into the log.
import json
import unittest

from book_shop import BookProviders
from harness import NodeTest, both_stores, run_reeve, time_in
from own_types import Receiver

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = f"00-{TRACE}-00f067aa0ba902b7-01"
STATE = "congo=t61rcWkgMzE"

ENVIRONMENT = """
import json, os, sys
json.dump({x: os.environ.get(x) for x in ("TRACEPARENT", "TRACESTATE")},
          sys.stdout)
"""


@both_stores
class Traces(NodeTest):

    @classmethod
    def setUpClass(cls):
        cls.providers = BookProviders()
        cls.addClassCleanup(cls.providers.close)
        cls.receiver = Receiver()
        cls.addClassCleanup(cls.receiver.close)
        cls.options = {
            **cls.providers.options,
            "analysis.provider": "analysis-server",
            "analysis.url": cls.providers.url,
            "retry.backoff": "20ms", "retry.max-backoff": "50ms",
            "types.HOOK.processor": "webhook",
            "types.HOOK.url": cls.receiver.url,
            "types.HOOK.addresses": "any",
            "types.ENVIRONMENT.processor": "command",
            "types.ENVIRONMENT.command":
                json.dumps(["/usr/bin/python3", "-c", ENVIRONMENT])}
        super().setUpClass()
        granted = run_reeve("accounts", "grant", "local", "1000",
                            f"--database.url={cls.node.database.url}")
        if granted.returncode != 0:
            raise AssertionError(granted)

    def setUp(self):
        self.providers.reset()
        self.receiver.requests.clear()

    def send(self, path: str, body=None, trace: str | None = PARENT,
             state: str | None = STATE) -> dict:
        headers = {"traceparent": trace, "tracestate": state}
        answer = self.node.post(
            path, body, {k: v for k, v in headers.items() if v is not None})
        self.assertIn(answer.status, (200, 202), answer)
        return answer.json

    def run_job(self, type: str, **kwargs) -> dict:
        made = self.send("/api/jobs", {"type": type, "target_id": "t"},
                         **kwargs)
        return self.node.wait_for_job(made["id"])

    def assert_child(self, parent: str | None, state: str | None):
        """It is another span of the trace that the job came with."""
        self.assertIsNotNone(parent)
        version, trace, span, flags = parent.split("-")
        self.assertEqual((version, trace, flags), ("00", TRACE, "01"))
        self.assertRegex(span, "^[0-9a-f]{16}$")
        self.assertNotEqual(span, PARENT.split("-")[2])
        self.assertEqual(state, STATE)

    def log_of(self, job_id: str) -> list[str]:
        self.node.wait_for_log(f"job.ended job={job_id}")
        return [x for x in self.node.log.splitlines() if job_id in x]

    def test_a_scrap_to_its_analysis_and_the_log(self):
        made = self.send("/api/scraps", {"content": "Salt from the sea."})
        job = self.node.wait_for_job(made["job_id"], "COMPLETED")
        self.assertEqual(job["traceparent"], PARENT)
        call, = self.providers.calls("analyze")
        self.assert_child(call["traceparent"], call["tracestate"])
        for line in self.log_of(job["id"]):
            self.assertIn(f" trace_id={TRACE}", line)

    def test_a_book_to_all_its_calls(self):
        made = self.send("/api/generate", {"title": "T", "prompt": "a cat",
                                           "pages": 2})
        job = self.node.wait_for_job(made["job_id"], "COMPLETED")
        self.assertEqual(job["traceparent"], PARENT)
        calls = self.providers.calls()
        self.assertEqual({x["api"] for x in calls}, {"messages", "gemini"})
        for call in calls:
            self.assert_child(call["traceparent"], call["tracestate"])
        # One run, one span.
        self.assertEqual(len({x["traceparent"] for x in calls}), 1)
        page = f"/api/contents/{made['content_id']}/pages/1/image"
        redrawn = self.send(page)
        self.assertEqual(self.node.job(redrawn["job_id"])["traceparent"],
                         PARENT)

    def test_each_run_of_a_webhook_is_a_span(self):
        self.receiver.answers.append((500, {}, b"no"))
        job = self.run_job("HOOK")
        self.assertEqual(job["status"], "COMPLETED", job)
        first, second = [headers for headers, _ in self.receiver.requests]
        for headers in (first, second):
            self.assert_child(headers["traceparent"], headers["tracestate"])
        self.assertNotEqual(first["traceparent"], second["traceparent"])

    def test_a_program_finds_it_in_its_environment(self):
        result = self.run_job("ENVIRONMENT")["result"]
        self.assert_child(result["TRACEPARENT"], result["TRACESTATE"])

    def test_a_job_without_a_trace_starts_none(self):
        # An invalid one is none, and no error.
        for trace in (None, "", "nonsense", PARENT + "-00",
                      PARENT.upper(), PARENT + ", " + PARENT,
                      f"00-{'0' * 32}-00f067aa0ba902b7-01"):
            with self.subTest(trace=trace):
                job = self.run_job("ENVIRONMENT", trace=trace)
                self.assertIsNone(job["traceparent"])
                self.assertEqual(job["result"], {"TRACEPARENT": None,
                                                 "TRACESTATE": None})
        for line in self.log_of(job["id"]):
            self.assertNotIn("trace_id", line)
        self.receiver.answers.clear()
        self.run_job("HOOK", trace=None)
        headers, _ = self.receiver.requests[-1]
        self.assertNotIn("traceparent", headers)
        self.assertNotIn("tracestate", headers)

    def test_an_invalid_tracestate_is_left_behind_alone(self):
        result = self.run_job("ENVIRONMENT", state="Not=a state=")["result"]
        self.assertIn(TRACE, result["TRACEPARENT"])
        self.assertIsNone(result["TRACESTATE"])

    def test_all_jobs_of_a_batch_have_it(self):
        # Enough of them to be copied, on PostgreSQL; one is due.
        later = [{"type": "ENVIRONMENT", "target_id": str(i),
                  "run_at": time_in(3600)} for i in range(39)]
        made = self.send("/api/jobs/batch", {"jobs": [
            *later, {"type": "ENVIRONMENT", "target_id": "now"}]})
        self.assertEqual({x["traceparent"] for x in made["jobs"]}, {PARENT})
        for one in made["jobs"][:3]:
            self.assertEqual(self.node.job(one["id"])["traceparent"], PARENT)
        job = self.node.wait_for_job(made["jobs"][-1]["id"], "COMPLETED")
        self.assert_child(job["result"]["TRACEPARENT"],
                          job["result"]["TRACESTATE"])

    def test_a_day_has_it(self):
        answer = self.node.post("/api/daily-summaries",
                                {"date": "2026-03-01"})
        day = answer.json["daily_summary_id"]
        for what in ("til", "recall"):
            made = self.send(f"/api/daily-summaries/{day}/{what}")
            job = self.node.wait_for_job(made["job_id"])
            self.assertEqual(job["traceparent"], PARENT)

    def test_a_retry_keeps_the_first_one(self):
        self.receiver.answers.append((404, {}, b"no"))
        job = self.run_job("HOOK")
        self.assertEqual(job["status"], "FAILED")
        other = f"00-{'1' * 32}-00f067aa0ba902b7-01"
        again = self.send(f"/api/jobs/{job['id']}/retry", trace=other)
        self.assertEqual(again["traceparent"], PARENT)
        self.node.wait_for_job(job["id"], "COMPLETED")
        headers, _ = self.receiver.requests[-1]
        self.assertIn(TRACE, headers["traceparent"])


if __name__ == "__main__":
    unittest.main()
