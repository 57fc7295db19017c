# tests/e2e/analysis_server.py -- CARD_ANALYSIS with an analysis server: the
# real one of examples/, and a fake one that misbehaves on command.
import email.utils
import os
import subprocess
import sys
import time
import unittest
from datetime import datetime
from urllib.parse import quote

from faults import FaultTest, wait_until
from harness import (ROOT, Process, both_stores, free_port,
                     read_article)

QUICK = {"retry.backoff": "50ms", "retry.max-backoff": "200ms",
         "gate.breaker-delay": "50ms", "gate.breaker-max-delay": "200ms"}


def seconds_between(earlier: str, later: str) -> float:
    return (datetime.fromisoformat(later)
            - datetime.fromisoformat(earlier)).total_seconds()


@both_stores
class RealServer(FaultTest):
    """examples/ai-server, as its README starts it."""

    def test_articles_become_cards(self):
        port = free_port()
        server = Process(
            ["/usr/bin/python3", "-m", "uvicorn", "app:app", "--app-dir",
             str(ROOT / "examples/ai-server"), "--port", str(port)],
            env={"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"})
        self.addCleanup(server.kill)
        server.wait_for_line("Application startup complete")
        node = self.start(options={
            "analysis.provider": "analysis-server",
            "analysis.url": f"http://127.0.0.1:{port}"})
        for language in ("en", "ko"):
            text = read_article(language)
            made = node.add_scrap(text, title=language)
            job = node.wait_for_job(made["job_id"])
            self.assertEqual(job["status"], "COMPLETED", job)
            card = node.get("/api/cards/" + job["result"]["card_id"]).json
            self.assertEqual((card["job_id"], card["scrap_id"]),
                             (made["job_id"], made["scrap_id"]))
            self.assertTrue(card["summary"].strip())
            self.assertLess(len(card["summary"]), len(text))
            self.assertGreaterEqual(len(card["tags"]), 3)
            self.assertEqual(card["embedding_dimension"],
                             len(card["embedding"]))
            self.assertGreater(card["embedding_dimension"], 0)
            listed = node.get("/api/cards?scrap_id=" + made["scrap_id"]).json
            self.assertEqual(listed, {"cards": [card]})
        self.assert_invariants(node.database)


class FakeServer(FaultTest):

    store = "sqlite"

    def setUp(self):
        self.fake = self.start_analysis()

    def start_here(self, options: dict | None = None):
        return self.start(self.fake, {**QUICK, **(options or {})})

    def post(self, node, text: str = "A text to be analysed.") -> str:
        return node.add_scrap(text, title="t")["job_id"]

    def assert_attempts(self, node, job_id: str, *expected: tuple):
        """The (outcome, decision) of each run that did not complete."""
        self.assertEqual([(x["outcome"], x["decision"])
                          for x in node.attempts(job_id)], list(expected))

    # -- the job's target and states ----------------------------------------

    def test_processing_is_visible_before_the_call(self):
        node = self.start_here()
        self.fake.mode("hang", times=1)
        job_id = self.post(node)
        call = self.wait_for_call(self.fake)
        job = node.job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("PROCESSING", 1))
        started = datetime.fromisoformat(job["started_at"]).timestamp()
        self.assertLessEqual(started, call["time"])
        # Also to whoever reads the database.
        self.assertEqual(node.database.sql("SELECT status FROM jobs"),
                         [["PROCESSING"]])

    def test_deleted_target_fails_without_a_call(self):
        node = self.start_here({"workers": 1})
        self.fake.mode("ok;delay=1", times=1)
        first = self.post(node)
        self.wait_for_call(self.fake)
        gone = node.add_scrap("Deleted before its turn.", title="gone")
        answer = node.request("DELETE", "/api/scraps/" + gone["scrap_id"])
        self.assertEqual(answer.status, 204)
        self.assertEqual(node.wait_for_job(first)["status"], "COMPLETED")
        job = node.wait_for_job(gone["job_id"])
        self.assertEqual((job["status"], job["error_message"]),
                         ("FAILED", "Target data not found (Already deleted)"))
        self.assert_attempts(node, gone["job_id"],
                             ("failed_permanently", "fail"))
        self.assertEqual(self.calls_of(self.fake, "gone"), [])

    def test_target_deleted_during_the_call(self):
        node = self.start_here()
        self.fake.mode("ok;delay=1")
        made = node.add_scrap("Deleted meanwhile.", title="t")
        self.wait_for_call(self.fake)
        answer = node.request("DELETE", "/api/scraps/" + made["scrap_id"])
        self.assertEqual(answer.status, 204)
        job = node.wait_for_job(made["job_id"])
        self.assertEqual((job["status"], job["error_message"]),
                         ("FAILED", "Target data not found (Already deleted)"))
        self.assertEqual(node.database.sql("SELECT * FROM knowledge_cards"),
                         [])
        self.assert_invariants(node.database)

    # -- not the job's fault ------------------------------------------------

    def check_outage(self, *texts: str, mode: str | None = None,
                     stop: bool = False):
        """Many failures in a row, then the server is back."""
        node = self.start_here()
        if mode:
            self.fake.mode(mode)
        if stop:
            port = int(self.fake.url.rsplit(":", 1)[1])
            self.fake.close()
        job_id = self.post(node)
        job = node.wait_for_job(
            job_id, lambda job: job["unspent"]["provider_down"] >= 5
            and job["status"] == "PENDING")
        self.assertEqual(job["attempts"], 0)
        self.assertEqual(job["reason"], "provider_down")
        for text in texts:
            self.assertIn(text, job["error_message"])
        if stop:
            self.revive(port)
        else:
            self.fake.mode("ok")
        job = node.wait_for_job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 1))
        self.assertIsNone(job["error_message"])
        down = job["unspent"]["provider_down"]
        self.assertEqual(job["unspent"], {"throttled": 0, "interrupted": 0,
                                          "provider_down": down})
        self.assert_attempts(node, job_id,
                             *[("provider_down", "retry_unspent")] * down)
        self.assertIn("not the job's fault", node.attempts(job_id)[0]["why"])
        self.assert_invariants(node.database)

    def revive(self, port: int):
        server = Process([sys.executable,
                          str(ROOT / "tests/fakes/analysis_server.py"),
                          "--port", str(port)], stdin=subprocess.DEVNULL)
        self.addCleanup(server.kill)
        server.wait_for_line("listening on")

    def test_http_500(self):
        self.check_outage("HTTP 500", mode="http:500")

    def test_http_503(self):
        self.check_outage("HTTP 503", mode="http:503")

    def test_answer_cut_off(self):
        self.check_outage("cut off", mode="cut")

    def test_connection_reset(self):
        self.check_outage("analysis server 127.0.0.1", mode="reset")

    def test_connection_refused(self):
        self.check_outage("No connection", stop=True)

    def test_cap_on_unspent_runs(self):
        node = self.start_here({"retry.max-unspent": 3})
        self.fake.mode("http:503")
        job = node.wait_for_job(self.post(node))
        self.assertEqual((job["status"], job["attempts"]), ("FAILED", 1))
        self.assertIn("HTTP 503", job["error_message"])
        self.assertEqual(len(self.fake.calls()), 4)

    def check_throttled(self, retry_after, least: float):
        node = self.start_here()
        self.fake.mode("http:429;retry-after=" + retry_after(), times=1)
        job_id = self.post(node)
        waiting = node.wait_for_job(
            job_id, lambda job: job["unspent"]["throttled"] == 1)
        self.assertEqual((waiting["status"], waiting["attempts"],
                          waiting["reason"]), ("PENDING", 0, "throttled"))
        self.assertIn("HTTP 429", waiting["error_message"])
        # The next time is known, and shown.
        self.assertGreaterEqual(
            seconds_between(waiting["updated_at"], waiting["run_at"]), least)
        job = node.wait_for_job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 1))
        first, second = self.fake.calls()
        self.assertGreaterEqual(second["time"] - first["ended"], least)
        self.assertLess(second["time"] - first["ended"], least + 4)
        self.assert_attempts(node, job_id, ("throttled", "retry_unspent"))
        self.assert_invariants(node.database)

    def test_retry_after_seconds(self):
        self.check_throttled(lambda: "2", 2)

    def test_retry_after_date(self):
        # Whole seconds, and some of them pass before the answer.
        self.check_throttled(lambda: email.utils.formatdate(
            time.time() + 4, usegmt=True), 1)

    # -- the job's fault ----------------------------------------------------

    def test_refused_request_fails_at_once(self):
        node = self.start_here()
        self.fake.mode("http:400;detail=the language is not supported")
        job = node.wait_for_job(self.post(node))
        self.assertEqual((job["status"], job["attempts"]), ("FAILED", 1))
        self.assertRegex(
            job["error_message"],
            r"^The analysis server 127\.0\.0\.1:\d+ refused the request "
            r"\(HTTP 400 Bad Request\): the language is not supported$")
        self.assert_attempts(node, job["id"], ("failed_permanently", "fail"))
        self.assertEqual(len(self.fake.calls()), 1)

    def test_error_does_not_repeat_the_text(self):
        node = self.start_here()
        self.fake.mode("http:422;detail=@text")
        secret = "The recipe is seven grams of salt and one of patience."
        job = node.wait_for_job(self.post(node, secret))
        self.assertEqual(job["status"], "FAILED")
        self.assertNotIn("seven grams", job["error_message"])
        self.assertNotIn("seven grams", node.log)

    def check_spent(self, mode: str, *texts: str):
        node = self.start_here()
        self.fake.mode(mode)
        job = node.wait_for_job(self.post(node))
        self.assertEqual((job["status"], job["attempts"]), ("FAILED", 3))
        for text in texts:
            self.assertIn(text, job["error_message"])
        self.assert_attempts(node, job["id"], ("failed", "retry"),
                             ("failed", "retry"), ("failed", "fail"))
        self.assertIn("attempt 3 of 3", node.attempts(job["id"])[2]["why"])
        self.assertEqual(len(self.fake.calls()), 3)
        # An operator's second thought.
        self.fake.mode("ok")
        self.assertEqual(node.post(f"/api/jobs/{job['id']}/retry").status,
                         200)
        job = node.wait_for_job(job["id"])
        self.assertEqual(job["status"], "COMPLETED")
        self.assertIsNone(job["error_message"])

    def test_answer_that_is_not_json(self):
        self.check_spent("not_json", "is no usable JSON")

    def test_answer_of_the_wrong_shape(self):
        self.check_spent("wrong_shape", "has no string `summary`")

    def test_answer_that_is_too_large(self):
        self.check_spent("huge", "too large")

    def test_timeout(self):
        node = self.start_here({"types.CARD_ANALYSIS.timeout": "300ms"})
        self.fake.mode("hang", times=1)
        job_id = self.post(node)
        job = node.wait_for_job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 2))
        timed_out, = node.attempts(job_id)
        self.assertEqual((timed_out["outcome"], timed_out["decision"],
                          timed_out["error"]),
                         ("timed_out", "retry", "Timed out after 300 ms"))
        first = self.fake.calls()[0]
        # The call was given up, not left behind.
        self.assertLess(first["ended"] - first["time"], 3)
        self.assert_invariants(node.database)

    def test_slow_answer_is_no_timeout(self):
        node = self.start_here()
        self.fake.mode("slow;interval=0.002")
        job = node.wait_for_job(self.post(node))
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 1))

    # -- cancellation, secrets ----------------------------------------------

    def test_cancel_stops_the_call(self):
        node = self.start_here()
        self.fake.mode("hang")
        job_id = self.post(node)
        self.wait_for_call(self.fake)
        began = time.monotonic()
        answer = node.post(f"/api/jobs/{job_id}/cancel")
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.json["cancel_requested"])
        job = node.wait_for_job(job_id)
        self.assertLess(time.monotonic() - began, 2)
        self.assertEqual(job["status"], "CANCELLED")
        wait_until(lambda: self.fake.calls()[0]["ended"],
                   "the call to be given up", 5)
        self.assert_problem(node.post(f"/api/jobs/{job_id}/cancel"), 409)
        self.assertEqual(len(self.fake.calls()), 1)
        # The slot is free again.
        self.fake.mode("ok")
        self.assertEqual(node.wait_for_job(self.post(node))["status"],
                         "COMPLETED")
        self.assert_invariants(node.database)

    def test_api_key_is_sent_and_never_told(self):
        key = "canary-7f3a9c52e1"
        node = self.start_node({**self.fake.options, **QUICK,
                                "log.level": "debug"},
                               environment={"REEVE_ANALYSIS_API_KEY": key})
        self.fake.mode("http:401", times=1)
        job_id = self.post(node)
        # A bad key is for people to mend: the lane waits for them.
        lane = wait_until(
            lambda: next((x for x in node.get("/api/providers")
                          .json["providers"] if x["state"] == "paused"), None),
            "the lane is paused")
        self.assertIn("check the configured API key", lane["reason"])
        self.assertNotIn(key, str(lane))
        node.post("/api/providers/" + quote(lane["name"], safe="")
                  + "/resume")
        job = node.wait_for_job(job_id)
        self.assertEqual((job["status"], job["attempts"]), ("COMPLETED", 1))
        refused, = node.attempts(job["id"])
        self.assertEqual(refused["outcome"], "provider_down")
        self.assertIn("check the configured API key", refused["error"])
        self.assertEqual({call["authorization"] for call in self.fake.calls()},
                         {"Bearer " + key})
        self.assertEqual(node.terminate(), 0)
        for place in (node.log, node.stdout, str(refused), str(job)):
            self.assertNotIn(key, place)
        with open(node.database.path, "rb") as file:
            self.assertNotIn(key.encode(), file.read())


if __name__ == "__main__":
    unittest.main()
