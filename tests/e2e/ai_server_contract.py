#!/usr/bin/python3
"""Checks examples/ai-server against what the analysis client relies on.

    /usr/bin/python3 tests/e2e/ai_server_contract.py

Starts the service with uvicorn under the Python that runs this, on a free
port. Needs fastapi and uvicorn; everything else is the standard library.
"""

import http.client
import json
import math
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
START_SECONDS = 60


def read_article(name):
    return (ROOT / "tests" / "data" / name).read_text(encoding="utf-8")


def cosine(a, b):
    return sum(x * y for x, y in zip(a["embedding"], b["embedding"]))


class Service:
    """uvicorn on a socket that is bound here: no port can be lost to others,
    and connections wait in its queue until the service is up."""

    def __init__(self):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        self.port = listener.getsockname()[1]
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "app:app", "--fd",
             str(listener.fileno())],
            cwd=ROOT / "examples" / "ai-server",
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            pass_fds=[listener.fileno()], stdout=self.log, stderr=self.log)
        listener.close()

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=START_SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.seek(0)
        result = self.log.read().decode("utf-8", "replace")
        self.log.close()
        return result


class AiServerContract(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.service = Service()
        try:
            status, _ = cls.service.request("GET", "/healthz")
        except OSError as err:
            raise RuntimeError("the service does not start:\n"
                               + cls.service.stop()) from err
        if status != 200:
            raise RuntimeError("/healthz answers %d" % status)

    @classmethod
    def tearDownClass(cls):
        log = cls.service.stop()
        # An error of the service is one of ours, whatever it answered.
        if "Traceback" in log:
            raise AssertionError("the service logged:\n" + log)

    # -- helpers ----------------------------------------------------------

    def post(self, body, headers=None, path="/analyze"):
        if not isinstance(body, (bytes, type(iter([])))):
            body = json.dumps(body).encode()
        return self.service.request(
            "POST", path, body,
            {"Content-Type": "application/json", **(headers or {})})

    def analyze(self, text, **rest):
        status, body = self.post({"text": text, **rest})
        self.assertEqual(status, 200, body[:300])
        result = json.loads(body)
        self.assertEqual(set(result),
                         {"summary", "tags", "embedding", "model"})
        self.assertIsInstance(result["summary"], str)
        self.assertTrue(result["summary"].strip())
        self.assertLessEqual(len(result["summary"]), 600)
        self.assertTrue(all(isinstance(x, str) and x
                            for x in result["tags"]))
        self.assertLessEqual(len(result["tags"]), 5)
        self.assertEqual(len(set(result["tags"])), len(result["tags"]))
        self.assertEqual(len(result["embedding"]), 256)
        self.assertTrue(all(math.isfinite(x) for x in result["embedding"]))
        self.assertAlmostEqual(cosine(result, result), 1.0, places=6)
        self.assertEqual(result["model"], "example-extractive-1")
        return result

    def refused(self, body, status=422):
        got, answer = self.post(body)
        self.assertEqual(got, status, answer[:300])
        detail = json.loads(answer)["detail"]
        self.assertTrue(detail)
        return detail

    def assert_extract(self, summary, text):
        """Each sentence stands in the text as it is, in the same order."""
        line = " ".join(text.split())
        position = 0
        parts = re.findall(r".+?\.(?:\s|$)", summary)
        self.assertEqual("".join(parts), summary)
        self.assertIn(len(parts), (1, 2, 3))
        for part in parts:
            position = line.find(part.strip(), position)
            self.assertNotEqual(position, -1, part)

    # -- answers ----------------------------------------------------------

    def test_english_article(self):
        text = read_article("article-en.txt")
        result = self.analyze(text, title="Tide mills",
                              url="https://example.org/tide-mills")
        self.assert_extract(result["summary"], text)
        for tag in ("tide", "mill", "pond"):
            self.assertIn(tag, result["tags"])

    def test_korean_article(self):
        text = read_article("article-ko.txt")
        result = self.analyze(text)
        self.assert_extract(result["summary"], text)
        for tag in ("한지", "종이", "섬유"):
            self.assertIn(tag, result["tags"])

    def test_same_answer_to_the_same_text(self):
        text = read_article("article-ko.txt")
        self.assertEqual(self.analyze(text), self.analyze(text))

    def test_similar_texts_are_closer(self):
        mills = self.analyze("A tide mill grinds corn with the water of a "
                             "pond behind its dam.")
        cork = self.analyze("Cork oaks are stripped of their bark by hand.")
        article = self.analyze(read_article("article-en.txt"))
        self.assertGreater(cosine(mills, article),
                           cosine(cork, article) + 0.1)
        paper = self.analyze("한지는 닥나무의 섬유로 만든 종이다.")
        salt = self.analyze("염전에서는 바닷물을 말려 소금을 얻는다.")
        article = self.analyze(read_article("article-ko.txt"))
        self.assertGreater(cosine(paper, article),
                           cosine(salt, article) + 0.1)

    def test_odd_texts(self):
        for text in ("word", ".", "no end here", "\U0001F600\U0001F680",
                     "the and of", "a\x00b", "x" * 100_000, "e\u0301. " * 99,
                     "end. " * 100_000, "line\n" * 100_000):
            with self.subTest(text=text[:20]):
                self.analyze(text)

    def test_optional_fields_may_be_null(self):
        self.analyze("A text.", title=None, url=None)

    def test_half_a_surrogate_pair(self):
        status, body = self.post(b'{"text": "half \\ud83d of it"}')
        self.assertEqual(status, 200, body)
        self.assertIn("half \ufffd of it", json.loads(body)["summary"])

    def test_largest_text(self):
        self.analyze("가나다라 " * 200_000)

    def test_embedding_alone(self):
        text = read_article("article-ko.txt")
        status, body = self.post({"text": text}, path="/embed")
        self.assertEqual(status, 200, body[:300])
        result = json.loads(body)
        self.assertEqual(set(result), {"embedding", "model"})
        self.assertEqual(result["model"], "example-extractive-1")
        self.assertEqual(result["embedding"], self.analyze(text)["embedding"])

    # -- refusals ---------------------------------------------------------

    def test_nothing_to_embed(self):
        for body in ({}, [], {"text": None}, {"text": ""}, {"text": " \n"},
                     {"text": "x" * 1_000_001}):
            status, answer = self.post(body, path="/embed")
            self.assertEqual(status, 422, answer[:300])

    def test_missing_or_wrong_fields(self):
        secret = "a text nobody should find in a log"
        for body in ({}, [], None, "x", {"title": secret}, {"text": None},
                     {"text": [secret]}, {"text": {"a": secret}},
                     {"text": "x", "title": [secret]},
                     {"text": "x", "url": {"a": secret}},
                     {"text": "x", "title": secret * 100}):
            with self.subTest(body=str(body)[:40]):
                self.assertNotIn(secret, json.dumps(self.refused(body)))

    def test_empty_and_blank_text(self):
        self.refused({"text": ""})
        for blank in (" ", "\n\t\r\n", "\u3000\u00a0", "\x00"):
            detail = self.refused({"text": blank})
            self.assertIn("nothing to analyse", detail)

    def test_text_over_the_limit(self):
        self.refused({"text": "x" * 1_000_001})

    def test_not_json(self):
        self.refused(b"")
        self.refused(b"{\"text\": ")
        self.refused(b"text=hello")

    def test_bytes_that_cannot_be_parsed(self):
        self.refused(b'{"text": "\xff\xfe"}', 400)
        self.refused(b"[" * 100_000, 400)

    def test_body_over_the_limit(self):
        self.refused(b" " * (8 * 1024 * 1024 + 1), 413)

    def test_body_over_the_limit_in_chunks(self):
        status, _ = self.post(iter([b" " * 65536] * 160))
        self.assertEqual(status, 413)

    def test_other_paths_and_methods(self):
        self.assertEqual(self.service.request("GET", "/analyze")[0], 405)
        self.assertEqual(self.service.request("GET", "/nothing")[0], 404)

    def test_health(self):
        status, body = self.service.request("GET", "/healthz")
        self.assertEqual(status, 200)
        self.assertEqual(json.loads(body)["status"], "ok")


if __name__ == "__main__":
    unittest.main()
