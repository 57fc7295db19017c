# tests/e2e/api_jobs.py -- POST /api/jobs and /api/jobs/batch.
import json
import threading
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import NodeTest, both_stores, time_in, time_of

FIELDS = {"id", "type", "status", "target_id", "user_id", "payload", "result",
          "progress", "error_message", "attempts", "max_attempts", "priority",
          "run_at", "created_at", "started_at", "finished_at", "updated_at",
          "version"}
UUID = (r"^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-"
        r"[0-9a-f]{12}$")
NO_ID = "00000000-0000-7000-8000-000000000000"


def later(**fields) -> dict:
    """A job that stays PENDING."""
    return {"type": "CARD_ANALYSIS", "target_id": "t", "run_at": time_in(3600),
            **fields}


@both_stores
class Create(NodeTest):
    def test_answers_with_the_job(self):
        run_at = time_in(3600)
        answer = self.node.post("/api/jobs", {
            "type": "CARD_ANALYSIS", "target_id": "scrap-1", "run_at": run_at,
            "payload": {"a": [1, 2.5, None, True, {"b": "c"}]},
            "priority": -7, "max_attempts": 9, "unique_key": "answers",
            "user_id": "kim"})
        self.assertEqual(answer.status, 202, answer)
        job = answer.json
        self.assertEqual(answer.headers["Content-Type"], "application/json")
        self.assertEqual(answer.headers["Location"], "/api/jobs/" + job["id"])
        self.assertEqual(answer.headers["ETag"], f'"{job["version"]}"')
        self.assertLessEqual(FIELDS, set(job))
        self.assertRegex(job["id"], UUID)
        self.assertIs(job["deduplicated"], False)
        expected = {
            "type": "CARD_ANALYSIS", "status": "PENDING",
            "target_id": "scrap-1", "user_id": "kim",
            "payload": {"a": [1, 2.5, None, True, {"b": "c"}]},
            "result": None, "progress": {"percent": 0, "message": ""},
            "error_message": None, "attempts": 0, "max_attempts": 9,
            "priority": -7, "run_at": run_at, "started_at": None,
            "finished_at": None, "unique_key": "answers"}
        self.assertEqual({key: job[key] for key in expected}, expected)
        self.assertEqual(job["created_at"], job["updated_at"])
        time_of(job["created_at"])
        again = self.node.job(job["id"])
        del job["deduplicated"]
        self.assertEqual(again, job)

    def test_has_defaults(self):
        before, after = time_in(-5), time_in(5)
        job = self.node.add_job("nobody")
        self.assertEqual((job["priority"], job["max_attempts"], job["payload"],
                          job["user_id"]), (0, 3, {}, None))
        self.assertTrue(before < job["run_at"] < after, job)

    def test_null_is_as_good_as_absent(self):
        job = self.node.add_job(
            "nobody", payload=None, priority=None, max_attempts=None,
            run_at=None, unique_key=None, user_id=None)
        self.assertEqual((job["payload"], job["max_attempts"]), ({}, 3))

    def test_takes_content_type_with_parameters(self):
        for media in ("application/json; charset=utf-8",
                      "application/json ;x=y", "Application/JSON"):
            with self.subTest(media):
                answer = self.node.post("/api/jobs", later(),
                                        {"Content-Type": media})
                self.assertEqual(answer.status, 202, answer)

    def test_texts_come_back_unchanged(self):
        texts = ["한국어 텍스트", "\U0001f600", "\u202eabc", "e\u0301", "\ufeffx",
                 "\ufffe\uffff", "a\r\nb\tc", "\u2028\u0085", "' OR 1=1 --",
                 "<script>alert(1)</script>", "\x01\x1f\x7f", " ", "\\u0041"]
        for text in texts:
            with self.subTest(text.encode("unicode_escape")):
                job = self.node.add_job(text, payload={text: [text]},
                                        run_at=time_in(3600))
                found = self.node.job(job["id"])
                self.assertEqual(found["target_id"], text)
                self.assertEqual(found["payload"], {text: [text]})

    def test_numbers_come_back_unchanged(self):
        numbers = [0, -1, 2**53 + 1, 2**63 - 1, -2**63, 2**64 - 1, 0.1, 1e-7,
                   1.5e300, -2.25, 1e22, 123456789.125, 5e-324,
                   1.7976931348623157e308]
        job = self.node.add_job(payload={"n": numbers}, run_at=time_in(3600))
        self.assertEqual(self.node.job(job["id"])["payload"], {"n": numbers})

    def test_run_at_with_an_offset_is_utc(self):
        job = self.node.add_job(run_at="2999-01-01T09:00:00.5+09:00")
        self.assertEqual(job["run_at"], "2999-01-01T00:00:00.500Z")


@both_stores
class Refused(NodeTest):
    def refuse(self, body, *texts, status=400, headers=None):
        answer = self.node.post("/api/jobs", body, headers)
        problem = self.assert_problem(answer, status, *texts)
        self.assertEqual(self.node.get("/api/jobs").json["jobs"], [])
        return problem

    def test_unknown_fields(self):
        self.refuse(later(nonsense=1), "nonsense", "target_id")
        self.refuse(later(Priority=1), "Priority")
        self.refuse(later(**{"a/b~\n": 1}))

    def test_unknown_type(self):
        self.refuse(later(type="NO_SUCH"), "NO_SUCH", "CARD_ANALYSIS")
        self.refuse(later(type="card_analysis"), "card_analysis")
        self.refuse(later(type="T" * 101), "type")

    def test_missing_fields(self):
        self.refuse({}, "/type")
        self.refuse({"type": "CARD_ANALYSIS"}, "/target_id")
        self.refuse({"target_id": "x"}, "/type")

    def test_wrong_types(self):
        wrong = {"type": [1, [], {}, True, ""], "target_id": [1, [], {}, ""],
                 "payload": [1, "x", [], True],
                 "priority": ["1", 1.5, True, [], {}],
                 "max_attempts": ["3", 2.5, False],
                 "unique_key": [1, "", [], "reeve:mine"],
                 "user_id": [1, "", {}], "run_at": [0, True, [], ""]}
        for name, values in wrong.items():
            for value in values:
                with self.subTest(name=name, value=value):
                    self.refuse(later(**{name: value}), "/" + name)

    def test_limits(self):
        for name, most in (("target_id", 500), ("unique_key", 200),
                           ("user_id", 200)):
            self.refuse(later(**{name: "x" * (most + 1)}), "/" + name,
                        str(most))
            # Bytes count, not characters.
            self.refuse(later(**{name: "한" * (most // 3 + 1)}), "/" + name)
        for name, values in (("priority", (-1001, 1001, 2**31, 2**63, -2**63)),
                             ("max_attempts", (0, -1, 101, 2**32 + 1))):
            for value in values:
                self.refuse(later(**{name: value}), "/" + name)

    def test_times_that_are_none(self):
        for text in ("tomorrow", "2026-01-01", "2026-02-30T00:00:00Z",
                     "2026-01-01T00:00:00", "2026-01-01T24:00:00Z",
                     "2026-01-01T00:00:60Z", "2026-01-01T00:00:00+24:00",
                     "2026-01-01T00:00:00Z ", "999999-01-01T00:00:00Z",
                     "2026-01-01T00:00:00.Z", "-001-01-01T00:00:00Z"):
            with self.subTest(text):
                self.refuse(later(run_at=text), "/run_at")

    def test_bodies_that_are_no_json_object(self):
        for body in ("", " ", "null", "[]", "1", '"x"', "{", "{}{}", "{]",
                     '{"type":}', "{'type':1}", '{"a":1,}', "nul", "NaN",
                     '{"a":Infinity}', "\ufeff{}", "// x\n{}", "{\x00}",
                     '{"a":01}', '{"a":.5}', '{"a":"\t"}'):
            with self.subTest(body):
                self.refuse(body)

    def test_not_utf8(self):
        for raw in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80",
                    b"\xe2\x82", b"\x80"):
            with self.subTest(raw):
                self.refuse(b'{"type":"CARD_ANALYSIS","target_id":"x' + raw
                            + b'"}')

    def test_texts_no_store_keeps(self):
        for text in (r'"\u0000"', r'"a\u0000b"', r'"\ud800"', r'"\udc00x"'):
            for body in (f'{{"type":"CARD_ANALYSIS","target_id":{text}}}',
                         '{"type":"CARD_ANALYSIS","target_id":"x",'
                         f'"payload":{{"deep":[{{{text}:1}}]}}}}'):
                with self.subTest(body):
                    self.refuse(body)

    def test_numbers_no_store_keeps(self):
        for number in ("1e999", "-1e999", "18446744073709551616",
                       "-9223372036854775809", "1" * 400):
            with self.subTest(number):
                self.refuse('{"type":"CARD_ANALYSIS","target_id":"x",'
                            f'"payload":{{"n":{number}}}}}')

    def test_names_twice(self):
        self.refuse('{"type":"CARD_ANALYSIS","target_id":"a",'
                    '"target_id":"b"}', "target_id")
        self.refuse('{"type":"CARD_ANALYSIS","target_id":"a",'
                    '"payload":{"x":{"y":1,"y":2}}}')

    def test_deep_and_wide_json(self):
        deep = "[" * 100_000
        self.refuse(f'{{"payload":{deep}', )
        self.refuse('{"payload":{"a":' + "[" * 65 + "]" * 65 + "}}")
        self.refuse('{"payload":{"a":[' + "0," * 100_000 + "0]}}")

    def test_other_content_types(self):
        body = json.dumps(later())
        for media in ("text/plain", "application/x-www-form-urlencoded", "",
                      "multipart/form-data", "application/jsonx",
                      "text/plain, application/json"):
            with self.subTest(media):
                self.refuse(body, "application/json", status=415,
                            headers={"Content-Type": media})

    def test_bodies_over_the_limit(self):
        problem = self.refuse(later(payload={"x": "y" * 1024 * 1024}),
                              "1048576", status=413)
        self.assertIn("large", problem["type"])

    def test_unknown_query_parameters(self):
        answer = self.node.post("/api/jobs?dry_run=1", later())
        self.assert_problem(answer, 400, "dry_run")

    def test_the_largest_of_all_is_taken(self):
        body = {"type": "CARD_ANALYSIS", "target_id": "x" * 500,
                "unique_key": "y" * 200, "user_id": "z" * 200,
                "priority": 1000, "max_attempts": 100, "payload": {"p": ""}}
        with self.start_node() as node:
            room = 1024 * 1024 - len(json.dumps(body))
            body["payload"]["p"] = "p" * room
            answer = node.post("/api/jobs", body)
            self.assertEqual(answer.status, 202, answer)
            self.assertEqual(node.job(answer.json["id"])["payload"],
                             body["payload"])


@both_stores
class Once(NodeTest):
    """unique_key and Idempotency-Key."""

    def test_a_unique_key_makes_one_unfinished_job(self):
        first = self.node.post("/api/jobs", later(unique_key="k1"))
        self.assertEqual(first.status, 202, first)
        again = self.node.post("/api/jobs", later(unique_key="k1",
                                                  target_id="other"))
        self.assertEqual(again.status, 200, again)
        self.assertIs(again.json["deduplicated"], True)
        self.assertEqual(again.json["id"], first.json["id"])
        self.assertEqual(again.json["target_id"], "t")
        self.assertEqual(again.headers["Location"], first.headers["Location"])
        self.node.post(f"/api/jobs/{first.json['id']}/cancel")
        third = self.node.post("/api/jobs", later(unique_key="k1"))
        self.assertEqual(third.status, 202, third)
        self.assertNotEqual(third.json["id"], first.json["id"])

    def test_thirty_two_at_once_make_one(self):
        ready = threading.Barrier(32)

        def add(number):
            ready.wait(10)
            return self.node.post("/api/jobs", later(unique_key="k2",
                                                     priority=number))

        with ThreadPoolExecutor(32) as pool:
            answers = list(pool.map(add, range(32)))
        self.assertEqual(sorted(x.status for x in answers),
                         [200] * 31 + [202], answers)
        self.assertEqual(len({x.json["id"] for x in answers}), 1)
        rows = self.node.database.sql(
            "SELECT count(*) FROM job WHERE unique_key = 'k2'")
        self.assertEqual(rows, [["1"]])

    def test_an_idempotency_key_replays(self):
        key = {"Idempotency-Key": "replay-1"}
        body = later(target_id="replayed")
        first = self.node.post("/api/jobs", body, key)
        self.assertEqual(first.status, 202, first)
        again = self.node.post("/api/jobs", body, key)
        self.assertEqual(again.status, 202, again)
        self.assertEqual(again.json["id"], first.json["id"])
        self.assertEqual(again.headers["Idempotency-Replayed"], "true")
        self.assertIsNone(first.headers["Idempotency-Replayed"])
        # Also when the job has changed since.
        self.node.post(f"/api/jobs/{first.json['id']}/cancel")
        third = self.node.post("/api/jobs", body, key)
        self.assertEqual(third.json["id"], first.json["id"])
        found = self.node.get("/api/jobs?target_id=replayed").json["jobs"]
        self.assertEqual(len(found), 1)

    def test_an_idempotency_key_is_for_one_request(self):
        key = {"Idempotency-Key": "reuse-1"}
        self.assertEqual(self.node.post("/api/jobs", later(), key).status, 202)
        answer = self.node.post("/api/jobs", later(priority=5), key)
        self.assertEqual(self.assert_problem(answer, 422)["type"],
                         "urn:reeve:problem:key_reused")

    def test_the_same_idempotency_key_at_once(self):
        ready = threading.Barrier(16)
        body = later(target_id="stampede")

        def add(_):
            ready.wait(10)
            return self.node.post("/api/jobs", body,
                                  {"Idempotency-Key": "stampede"})

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(add, range(16)))
        self.assertEqual({x.status for x in answers}, {202})
        self.assertEqual(len({x.json["id"] for x in answers}), 1)

    def test_idempotency_keys_that_are_none(self):
        for key in ("", "x" * 201):
            answer = self.node.post("/api/jobs", later(),
                                    {"Idempotency-Key": key})
            self.assert_problem(answer, 400, "Idempotency-Key")


@both_stores
class Batch(NodeTest):
    def test_adds_all(self):
        jobs = [later(target_id=f"b{i}", priority=i) for i in range(50)]
        answer = self.node.post("/api/jobs/batch", {"jobs": jobs})
        self.assertEqual(answer.status, 202, answer)
        added = answer.json["jobs"]
        self.assertEqual([x["target_id"] for x in added],
                         [x["target_id"] for x in jobs])
        self.assertEqual(len({x["id"] for x in added}), 50)
        for job in added[::10]:
            self.assertEqual(self.node.job(job["id"])["priority"],
                             job["priority"])

    def test_adds_all_or_none(self):
        for bad in (later(type="NO_SUCH"), later(priority=5000), 17, None,
                    {"type": "CARD_ANALYSIS"}, later(extra=1)):
            with self.subTest(bad):
                answer = self.node.post("/api/jobs/batch", {
                    "jobs": [later(target_id="none"), bad]})
                self.assert_problem(answer, 400, "/jobs/1")
        found = self.node.get("/api/jobs?target_id=none").json["jobs"]
        self.assertEqual(found, [])

    def test_has_limits(self):
        for body in ({}, {"jobs": []}, {"jobs": {}}, {"jobs": "x"}, [],
                     {"jobs": [later()] * 1001},
                     {"jobs": [later()], "more": 1}):
            self.assert_problem(self.node.post("/api/jobs/batch", body), 400)
        answer = self.node.post("/api/jobs/batch",
                                {"jobs": [later(target_id="m")] * 1000})
        self.assertEqual(answer.status, 202, answer.body[:300])
        self.assertEqual(len(answer.json["jobs"]), 1000)

    def test_knows_unique_keys(self):
        first = self.node.add_job(run_at=time_in(3600), unique_key="batch-k")
        answer = self.node.post("/api/jobs/batch", {"jobs": [
            later(unique_key="batch-k"), later(unique_key="batch-new"),
            later(unique_key="batch-new")]})
        self.assertEqual(answer.status, 202, answer)
        jobs = answer.json["jobs"]
        self.assertEqual([x["deduplicated"] for x in jobs],
                         [True, False, True])
        self.assertEqual(jobs[0]["id"], first["id"])
        self.assertEqual(jobs[1]["id"], jobs[2]["id"])

    def test_an_idempotency_key_replays_all(self):
        body = {"jobs": [later(target_id="twice"), later(target_id="twice")]}
        key = {"Idempotency-Key": "batch-1"}
        first = self.node.post("/api/jobs/batch", body, key)
        self.assertEqual(first.status, 202, first)
        again = self.node.post("/api/jobs/batch", body, key)
        self.assertEqual(again.status, 202, again)
        self.assertEqual(again.headers["Idempotency-Replayed"], "true")
        self.assertEqual([x["id"] for x in again.json["jobs"]],
                         [x["id"] for x in first.json["jobs"]])
        self.assertEqual(len({x["id"] for x in first.json["jobs"]}), 2)
        longer = {"jobs": body["jobs"] + [later(target_id="twice")]}
        answer = self.node.post("/api/jobs/batch", longer, key)
        self.assert_problem(answer, 422)
        found = self.node.get("/api/jobs?target_id=twice").json["jobs"]
        self.assertEqual(len(found), 2)


if __name__ == "__main__":
    unittest.main()
