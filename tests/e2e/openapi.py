# tests/e2e/openapi.py -- the OpenAPI document is true: every operation is
# called, every answer has the fields it names and no others, and nothing stands
# in it that no exchange has shown.
import json
import os
import re
import unittest

from jsonschema import Draft202012Validator

from book_shop import BookProviders, price_of
from faults import wait_until
from harness import (ROOT, Database, EventStream, FakeAnalysis, Node, NodeTest,
                     Postgres, Response, both_stores, run_reeve, time_in)
from openapi_checker import Checker

NO_ID = "00000000-0000-7000-8000-000000000000"
DOCUMENT = json.loads((ROOT / "actors/gateway/openapi.json").read_text())
CHECKER = Checker(DOCUMENT)
STORES_DONE: set[str] = set()

MOST_BYTES = 20_000
TRACE = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-"
                        "b7ad6b7169203331-01", "tracestate": "a=1"}

# What only a node in trouble shows; other tests make that trouble.
SHOWN_ELSEWHERE = {
    # outage.py, supervision.py
    "#/components/schemas/Actor/properties/last_error",
}


class Document(unittest.TestCase):
    def test_it_is_openapi_3_1(self):
        schema = json.loads(
            (ROOT / "tests/data/openapi-3.1-schema.json").read_text())
        found = [f"/{'/'.join(map(str, x.absolute_path))}: {x.message[:200]}"
                 for x in Draft202012Validator(schema).iter_errors(DOCUMENT)]
        self.assertEqual(found, [])
        # What stands there for schemas, OpenAPI leaves to JSON Schema.
        for member in DOCUMENT["components"]["schemas"].values():
            Draft202012Validator.check_schema(member)

    def test_names_and_references(self):
        names = [x["operationId"] for item in DOCUMENT["paths"].values()
                 for x in item.values()]
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(CHECKER.unused(), set())
        CHECKER.everything()  # follows every reference
        tags = {x["name"] for x in DOCUMENT["tags"]}
        for _, _, operation in CHECKER.operations.values():
            self.assertLessEqual(set(operation["tags"]), tags)

    def test_version(self):
        self.assertEqual(run_reeve("--version").stdout.split()[1],
                         DOCUMENT["info"]["version"])


class Formats(unittest.TestCase):
    GOOD = {
        "date-time": ["2026-02-28T23:59:59.000Z"],
        "date": ["2024-02-29"],
        "uuid": [NO_ID],
        "uri-reference": ["/api/jobs/1?a=%20", "https://shop.example/#x"],
    }
    BAD = {
        "date-time": ["nonsense", "2026-02-30T00:00:00.000Z",
                      "2026-02-28T00:00:00Z", "2026-02-28 00:00:00.000Z",
                      "2026-02-28T00:00:00.000+00:00"],
        "date": ["nonsense", "2026-02-29", "20260228"],
        "uuid": ["nonsense", NO_ID.replace("-", "")],
        "uri-reference": ["no sense", "/50%", "/caf\u00e9"],
    }

    def test_all_of_the_document_are_checked(self):
        named = set(re.findall(r'"format": "([^"]+)"', json.dumps(DOCUMENT)))
        self.assertEqual(named, set(self.GOOD))

    def test_what_is_another_thing_is_refused(self):
        for name in self.GOOD:
            schema = {"type": "string", "format": name}
            for value in self.GOOD[name]:
                CHECKER.check_value(schema, "", value, name)
            for value in self.BAD[name]:
                with self.subTest(name, value=value), \
                        self.assertRaises(AssertionError):
                    CHECKER.check_value(schema, "", value, name)


class ApiTest(NodeTest):
    def call(self, name: str, status: int, parameters: dict | None = None,
             body=None, node: Node | None = None, **more) -> Response:
        """A request of an operation, and whether its answer is documented.
        `key` is the caller's."""
        parameters = parameters or {}
        method, target, headers = CHECKER.address(name, parameters)
        if key := more.pop("key", None):
            headers["Authorization"] = "Bearer " + key
        headers.update(more.pop("headers", {}))
        answer = (node or self.node).request(method, target, body, headers)
        self.assertEqual(answer.status, status, f"{name} {target}: {answer}")
        CHECKER.check_answer(name, answer)
        if status < 400:
            CHECKER.note_request(name, parameters, body)
        return answer

    def get(self, name: str, parameters: dict | None = None, **more):
        return self.call(name, 200, parameters, **more).json

    def watch(self, name: str, parameters: dict | None = None,
              headers: dict | None = None) -> EventStream:
        _, target, more = CHECKER.address(name, parameters or {})
        stream = self.node.sse(target, {**more, **(headers or {})})
        self.addCleanup(stream.close)
        CHECKER.note_request(name, parameters or {}, None)
        CHECKER.shown.add(f"{name}/200")
        return stream

    def next_event(self, name: str, stream: EventStream):
        event = stream.next()
        CHECKER.check_event(name, event)
        return event

    @staticmethod
    def nowhere(name: str) -> dict:
        """Path parameters that name nothing."""
        return {x["name"]: {"id": NO_ID, "page": 1}.get(x["name"], "NONE")
                for x in CHECKER.parameters_of(name) if x["in"] == "path"}

    @staticmethod
    def documented(status: int) -> list[str]:
        return [name for name, (_, _, operation) in CHECKER.operations.items()
                if str(status) in operation["responses"]]


@both_stores
class Answers(ApiTest):
    """One node with fake providers; what they do is decided here."""

    @classmethod
    def setUpClass(cls):
        cls.analysis = FakeAnalysis()
        cls.addClassCleanup(cls.analysis.close)
        cls.providers = BookProviders()
        cls.addClassCleanup(cls.providers.close)
        cls.options = {
            **cls.analysis.options, **cls.providers.options, "workers": 2,
            "http.max-body-bytes": MOST_BYTES, "retry.backoff": "50ms",
            "types.CARD_ANALYSIS.concurrency": 1}
        super().setUpClass()
        STORES_DONE.add(cls.store)

    def grant(self, tokens: int, user: str = "local"):
        done = run_reeve("accounts", "grant", user, str(tokens),
                         "--database.url=" + self.node.database.url)
        self.assertEqual(done.returncode, 0, done)

    def pause(self, name: str):
        self.call("pauseType", 200, {"type": name}, {"reason": "a test"})
        self.addCleanup(self.node.post, f"/api/types/{name}/resume")

    def scrap(self, content: str = "Salt is won from the sea.") -> dict:
        return self.call("addScrap", 200, body={
            "content": content, "title": "Salt", "url": "https://a.example"
        }).json

    def finished(self, job_id: str) -> dict:
        self.node.wait_for_job(job_id)
        return self.get("getJob", {"id": job_id})

    # -- jobs ---------------------------------------------------------------

    def test_jobs(self):
        later = {"type": "CARD_ANALYSIS", "target_id": "t",
                 "payload": {"any": ["thing"]}, "priority": -5,
                 "run_at": time_in(3600), "max_attempts": 7,
                 "unique_key": "only-one", "user_id": "kim"}
        made = self.call("enqueue", 202, TRACE, later).json
        self.call("enqueue", 200, body=later)
        self.call("enqueueBatch", 202, TRACE, {"jobs": [
            {**later, "unique_key": f"b-{n}"} for n in range(2)]})
        page = self.get("listJobs", {
            "status": "PENDING", "type": "CARD_ANALYSIS", "target_id": "t",
            "user_id": "kim", "limit": 1})
        self.get("listJobs", {"cursor": page["next_cursor"]})
        self.get("listJobs", {"error": "%"})
        self.assertEqual(self.get("explainJob", {"id": made["id"]})["code"],
                         "due_later")
        etag = self.call("getJob", 200, {"id": made["id"]}).headers["ETag"]
        self.call("getJob", 304, {"id": made["id"], "wait": 0,
                                  "If-None-Match": etag})
        self.call("retryJob", 409, {"id": made["id"]})
        self.call("cancelJob", 200, {"id": made["id"]})
        self.call("cancelJob", 409, {"id": made["id"]})
        self.call("retryJob", 200, {"id": made["id"]})

    def test_failures(self):
        gone = self.call("enqueue", 202, body={
            "type": "CARD_ANALYSIS", "target_id": "gone"}).json["id"]
        self.assertEqual(self.finished(gone)["status"], "FAILED")
        span = {"from": time_in(-3600), "to": time_in(3600)}
        group = self.get("listErrors", {
            "type": "CARD_ANALYSIS", "limit": 5, **span})["errors"][0]
        filter_ = {"status": "FAILED", "type": "CARD_ANALYSIS", **span}
        self.call("retryJobs", 200, body={
            **filter_, "fingerprint": group["fingerprint"], "dry_run": True})
        report = self.call("retryJobs", 200, body={
            **filter_, "error_like": "%deleted%", "limit": 1}).json
        self.assertEqual(report["retried"], 1, report)
        self.finished(gone)

    def test_runs(self):
        again = self.scrap("!fault not_json x1\nA second try.")["job_id"]
        self.assertEqual(self.finished(again)["status"], "COMPLETED")
        attempts = self.get("listAttempts", {"id": again})["attempts"]
        self.assertEqual(attempts[0]["decision"], "retry")
        self.analysis.mode("hang", times=1)
        first = self.scrap("Runs for long.")["job_id"]
        self.node.wait_for_job(first, "PROCESSING")
        second = self.scrap("Waits.")["job_id"]
        third = self.scrap("Waits behind it.")["job_id"]
        why = self.get("explainJob", {"id": second})
        self.assertEqual(why["blocking_job"], first)
        self.get("explainJob", {"id": third})
        self.get("listActors")
        self.assertGreater(self.get("getStats")["oldest_due_seconds"], 0)
        self.get("listTypes")
        self.call("cancelJob", 200, {"id": first})
        for job_id in (first, second, third):
            self.finished(job_id)

    def test_events(self):
        late = self.watch("watchJobs", {"Last-Event-ID": 2 ** 40})
        self.assertEqual(self.next_event("watchJobs", late).event, "reset")
        feed = self.watch("watchJobs", {"type": "CARD_ANALYSIS",
                                        "user_id": "kim"})
        made = self.call("enqueue", 202, body={
            "type": "CARD_ANALYSIS", "target_id": "gone",
            "user_id": "kim"}).json
        self.next_event("watchJobs", feed)
        stream = self.watch("watchJob", {"id": made["id"],
                                         "Last-Event-ID": 0})
        while self.next_event(
                "watchJob", stream).data["status"] != "FAILED":
            pass
        version = self.finished(made["id"])["version"]
        self.call("watchJob", 204, {"id": made["id"],
                                    "Last-Event-ID": version})

    # -- scraps and days ----------------------------------------------------

    def test_scraps_and_days(self):
        old = self.scrap("Bread dough with wild yeast tastes sour.")
        self.assertEqual(self.finished(old["job_id"])["status"], "COMPLETED")
        self.get("listSteps", {"id": old["job_id"]})
        self.node.terminate()
        self.node.database.sql(
            "UPDATE knowledge_cards SET created_at = created_at - "
            + ("432000000000" if self.store == "sqlite"
               else "interval '5 days'"))
        self.node.start()
        made = self.scrap("Bread dough with wild yeast tastes sour.")
        self.finished(made["job_id"])
        self.get("getScrap", {"id": made["scrap_id"]})
        card = self.get("listCards", {"scrap_id": made["scrap_id"]})[
            "cards"][0]
        self.get("getCard", {"id": card["id"]})
        self.assertTrue(self.get("recall", {"q": "bread", "limit": 3})[
            "cards"])
        day = {"date": card["created_at"][:10], "time_zone": "UTC",
               "user_id": None}
        self.call("addSummary", 201, body=day)
        made_again = self.call("addSummary", 200, body=day).json
        where = {"id": made_again["daily_summary_id"]}
        for name in ("addTil", "addRecall"):
            job = self.call(name, 202, where, {}).json["job_id"]
            self.assertEqual(self.finished(job)["status"], "COMPLETED")
        summary = self.get("getSummary", where)
        self.assertTrue(summary["cards"] and summary["recall"]["related"])
        self.call("addSummary", 201, body={**day, "user_id": "kim"})
        for name, status in (("getSummary", 200), ("addTil", 202),
                             ("addRecall", 202)):
            self.call(name, status, {"id": day["date"], "user_id": "kim"})
        page = self.get("listCards", {"limit": 1})
        self.get("listCards", {"cursor": page["next_cursor"]})
        self.call("deleteScrap", 204, {"id": made["scrap_id"]})

    # -- books --------------------------------------------------------------

    def order(self, status: int = 202, pages: int = 2, **fields) -> dict:
        return self.call("orderBook", status, body={
            "title": "The Fox", "prompt": "a fox that learns to swim",
            "pages": pages, **fields}).json

    def test_books(self):
        self.grant(price_of(2) + 5, "kim")
        made = self.order(user_id="kim")
        self.assertEqual(self.finished(made["job_id"])["status"], "COMPLETED")
        self.get("listSteps", {"id": made["job_id"]})
        self.get("getContent", {"id": made["content_id"]})
        page = {"id": made["content_id"], "page": 1}
        etag = self.call("getImage", 200, page).headers["ETag"]
        self.call("getImage", 304, {**page, "If-None-Match": etag})
        redraw = self.call("redraw", 202, page, {"prompt": "a red fox"}).json
        self.finished(redraw["job_id"])
        self.call("redraw", 402, page)
        self.get("getAccount", {"user_id": "kim"})
        span = {"from": time_in(-3600), "to": time_in(3600)}
        for by in ("type", "user", "day"):
            self.assertTrue(self.get("getUsage", {"group_by": by, **span})[
                "rows"])
        self.providers.fault(api="messages", kind="refusal")
        self.grant(price_of(1), "kim")
        refused = self.order(pages=1, user_id="kim")
        self.assertEqual(self.finished(refused["job_id"])["status"], "FAILED")
        self.assertTrue(self.get("getContent", {"id": refused["content_id"]})[
            "error_message"])
        books = self.get("listContents", {"limit": 1})
        self.get("listContents", {"cursor": books["next_cursor"]})
        # Anthropic's headers fill the buckets.
        lanes = self.get("listProviders")["providers"]
        self.assertTrue(any(x["limits"]["requests"] for x in lanes))

    def test_money_and_time(self):
        self.pause("BOOK_GENERATION")
        self.grant(price_of(1), "poor")
        first = self.order(pages=1, user_id="poor")
        self.call("redraw", 409, {"id": first["content_id"], "page": 1})
        self.get("listTypes")
        self.call("cancelJob", 200, {"id": first["job_id"]})
        second = self.order(pages=1, user_id="poor")
        self.order(402, pages=1, user_id="poor")
        self.call("retryJob", 402, {"id": first["job_id"]})
        self.call("cancelJob", 200, {"id": second["job_id"]})
        self.call("resumeType", 200, {"type": "BOOK_GENERATION"}, {})

    def test_lanes(self):
        self.providers.fault(api="messages", status=429, kind="status",
                             headers={"retry-after": "2"})
        self.grant(price_of(1))
        job = self.order(pages=1)["job_id"]
        lane = wait_until(lambda: next(
            (x for x in self.get("listProviders")["providers"]
             if x["opens_in_seconds"]), None), "a parked lane")
        self.get("listTypes")
        self.call("resumeProvider", 200, {"name": lane["name"]}, {})
        self.assertEqual(self.finished(job)["status"], "COMPLETED")

    # -- the rest -----------------------------------------------------------

    def test_actors(self):
        self.call("restartActor", 409, {"name": "db"})
        started = self.call("restartActor", 200, {"name": "job-2"},
                            {"reason": "a test"}).json
        self.assertEqual(started["restart_history"][-1]["by"], "operator")
        stream = self.watch("watchActors")
        self.next_event("watchActors", stream)

    def test_statistics(self):
        history = wait_until(lambda: (lambda x: x if x["types"] else None)(
            self.get("getStatsHistory")), "a sample with jobs")
        self.assertEqual(len(history["at"]), len(history["oldest_due_seconds"]))
        stream = self.watch("watchStats")
        kinds = {self.next_event("watchStats", stream).event
                 for _ in range(3)}
        self.assertEqual(kinds, {"stats", "types", "providers"})

    def test_probes(self):
        for name in ("health", "readiness"):
            self.get(name)
        self.call("metrics", 200)
        answer = self.call("openapi", 200)
        self.assertEqual(answer.json, DOCUMENT)
        again = self.call("openapi", 304, {
            "If-None-Match": answer.headers["ETag"]})
        self.assertEqual(again.headers["ETag"], answer.headers["ETag"])

    def test_idempotency_keys(self):
        self.grant(1000)
        summary = self.node.post("/api/daily-summaries",
                                 {"date": "2026-03-01"}).json
        self.pause("BOOK_GENERATION")
        book = self.book_of("ready")
        day = {"id": summary["daily_summary_id"]}
        page = {"id": book, "page": 1}
        job = {"type": "CARD_ANALYSIS", "target_id": "t",
               "run_at": time_in(3600)}
        for name, where, bodies in (
                ("enqueue", {}, (job, {**job, "priority": 1})),
                ("enqueueBatch", {}, ({"jobs": [job]}, {"jobs": [job] * 2})),
                ("addScrap", {}, ({"content": "a"}, {"content": "b"})),
                ("addTil", day, ({}, None)), ("addRecall", day, ({}, None)),
                ("orderBook", {}, tuple(
                    {"title": "T", "prompt": "p", "pages": n}
                    for n in (1, 2))),
                ("redraw", page, ({"prompt": "a"}, {"prompt": "b"}))):
            where = {**where, **TRACE, "Idempotency-Key": name}
            status = 200 if name == "addScrap" else 202
            self.call(name, status, where, bodies[0])
            again = self.call(name, status, where, bodies[0])
            self.assertEqual(again.headers["Idempotency-Replayed"], "true")
            self.call(name, 422, where, bodies[1])

    def book_of(self, name: str) -> str:
        """A book that is finished, without a word to its providers."""
        self.call("resumeType", 200, {"type": "BOOK_GENERATION"})
        made = self.order(pages=1, title=name)
        self.assertEqual(self.finished(made["job_id"])["status"], "COMPLETED")
        return made["content_id"]

    def test_bad_requests(self):
        for name in self.documented(400):
            self.call(name, 400, {**self.nowhere(name), "nonsense": 1})

    def test_nothing_there(self):
        for name in self.documented(404):
            self.call(name, 404, self.nowhere(name))

    def test_bodies(self):
        for name in self.documented(413):
            self.call(name, 413, self.nowhere(name), {
                "content": "x" * MOST_BYTES})
            self.call(name, 415, self.nowhere(name), b"{}",
                      headers={"Content-Type": "text/plain"})

    def test_elsewhere(self):
        """What is said of all paths has a problem's form, too."""
        connection = {"Host": "rebound.example"}
        for status, method, target, headers in (
                (404, "GET", "/nowhere", {}), (405, "PUT", "/api/jobs", {}),
                (421, "GET", "/api/jobs", connection),
                (403, "POST", "/api/jobs", {"Origin": "https://a.example"}),
                (431, "GET", "/healthz", {"X-Long": "x" * 20_000}),
                (417, "POST", "/api/jobs", {"Expect": "tea"})):
            answer = self.node.request(method, target, headers=headers)
            problem = self.assert_problem(answer, status)
            CHECKER.check_value({"$ref": "#/components/schemas/Problem"}, "",
                                problem, target)


@both_stores
class Keys(ApiTest):
    options = {"auth.mode": "api-key"}

    @classmethod
    def setUpClass(cls):
        if cls.store == "sqlite":
            cls.server, database = None, None
        else:
            # Of its own: it is stopped at the end.
            cls.server = Postgres()
            cls.addClassCleanup(cls.server.close)
            database = Database.__new__(Database)
            database.store, database.server = cls.store, cls.server
            database.name = cls.server.create_database()
            database.url = cls.server.url(database.name)
        cls.node = Node(cls.store, cls.options, database=database)
        cls.addClassCleanup(cls.node.close)
        cls.operator = cls.create("--role=operator")
        cls.kim, cls.lee = (cls.create("--role=client", "--user=" + user)
                            for user in ("kim", "lee"))

    @classmethod
    def create(cls, *args: str) -> str:
        done = run_reeve("keys", "create", "--name=x", *args,
                         "--database.url=" + cls.node.database.url)
        if done.returncode != 0:
            raise AssertionError(done)
        return done.stdout.strip()

    def test_no_key(self):
        for name, (_, _, operation) in CHECKER.operations.items():
            is_open = operation.get("security") == []
            with self.subTest(name):
                self.assertEqual("401" in operation["responses"], not is_open)
                self.call(name, 200 if is_open else 401, self.nowhere(name))

    def test_roles(self):
        for name, (_, _, operation) in CHECKER.operations.items():
            if operation.get("x-role") != "operator":
                continue
            with self.subTest(name):
                self.call(name, 403, self.nowhere(name), key=self.kim)

    def test_other_users(self):
        job = {"type": "CARD_ANALYSIS", "target_id": "t", "user_id": "lee",
               "run_at": time_in(3600)}
        day = {"date": "2026-03-01", "user_id": "lee"}
        for name, parameters, body in (
                ("enqueue", {}, job), ("enqueueBatch", {}, {"jobs": [job]}),
                ("addSummary", {}, day),
                ("getSummary", {"id": NO_ID, "user_id": "lee"}, None),
                ("addTil", {"id": NO_ID, "user_id": "lee"}, None),
                ("addRecall", {"id": NO_ID, "user_id": "lee"}, None),
                ("orderBook", {}, {"title": "T", "prompt": "p", "pages": 1,
                                   "user_id": "lee"}),
                ("getAccount", {"user_id": "lee"}, None),
                ("listCards", {}, None),
                ("getUsage", {"group_by": "type"}, None)):
            self.call(name, 403, parameters, body, key=self.kim)
        mine = {**job, "user_id": None, "unique_key": "k"}
        self.call("enqueue", 202, body=mine, key=self.lee)
        self.call("enqueue", 409, body=mine, key=self.kim)
        self.call("enqueueBatch", 202, body={"jobs": [mine]}, key=self.kim)

    def test_of_a_user(self):
        made = self.call("addScrap", 200, body={
            "content": "Salt is won from the sea."}, key=self.kim).json
        wait_until(lambda: self.call(
            "getJob", 200, {"id": made["job_id"]}, key=self.kim).json[
                "status"] == "COMPLETED", "the card")
        self.assertEqual(self.call("getScrap", 200, {"id": made["scrap_id"]},
                                   key=self.kim).json["user_id"], "kim")
        [card] = self.call("listCards", 200, {"scrap_id": made["scrap_id"]},
                           key=self.kim).json["cards"]
        self.assertEqual(card["user_id"], "kim")

    def test_the_database_is_away(self):
        if self.server is None:
            return  # there is no file to take away
        self.server.stop()
        self.node.wait_for_log("connection-lost")
        for name in self.documented(503):
            with self.subTest(name):
                self.call(name, 503, self.nowhere(name), key=self.operator)
        self.server.start()
        wait_until(lambda: self.node.get("/readyz").status == 200,
                   "the database")


class Whole(unittest.TestCase):
    """Last, by its name: all classes above have run."""

    maxDiff = None

    def test_everything_was_shown(self):
        stores = os.environ.get("REEVE_TEST_STORES", "sqlite,postgresql")
        self.assertEqual(STORES_DONE, set(stores.split(",")))
        if "postgresql" not in STORES_DONE:
            self.skipTest("a database that goes away takes PostgreSQL")
        everything = CHECKER.everything()
        self.assertEqual(sorted(everything - CHECKER.shown - SHOWN_ELSEWHERE),
                         [])
        self.assertLessEqual(SHOWN_ELSEWHERE, everything)


if __name__ == "__main__":
    unittest.main()
