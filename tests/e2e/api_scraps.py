# tests/e2e/api_scraps.py -- from a scrap to its knowledge card.
import math
import unittest

from harness import NodeTest, both_stores, read_article, time_of

GONE = "Target data not found (Already deleted)"
NO_ID = "00000000-0000-7000-8000-000000000000"


@both_stores
class Scraps(NodeTest):
    def card_of(self, scrap_id: str) -> dict:
        cards = self.node.get("/api/cards?scrap_id=" + scrap_id).json["cards"]
        self.assertEqual(len(cards), 1)
        return cards[0]

    def analyse(self, language: str) -> tuple[str, dict]:
        text = read_article(language)
        answer = self.node.post("/api/scraps", {
            "content": text, "title": "An article", "url": "https://a.test/"})
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(set(answer.json), {"scrap_id", "job_id"})
        scrap_id, job_id = answer.json["scrap_id"], answer.json["job_id"]
        self.assertEqual(answer.headers["Location"], "/api/scraps/" + scrap_id)
        job = self.node.wait_for_job(job_id)
        self.assertEqual(job["status"], "COMPLETED", job)
        self.assertEqual((job["type"], job["target_id"], job["attempts"],
                          job["error_message"]),
                         ("CARD_ANALYSIS", scrap_id, 1, None))
        self.assertEqual(self.node.attempts(job_id), [])
        card = self.card_of(scrap_id)
        self.assertEqual(card["job_id"], job_id)
        self.assertEqual(job["result"]["card_id"], card["id"])
        self.assertEqual(self.node.get("/api/cards/" + card["id"]).json, card)
        norm = math.sqrt(sum(x * x for x in card["embedding"]))
        self.assertAlmostEqual(norm, 1, places=3)
        self.assertEqual(card["embedding_dimension"], len(card["embedding"]))
        time_of(card["created_at"])
        return text, card

    def test_english(self):
        text, card = self.analyse("en")
        self.assertTrue(60 < len(card["summary"]) < len(text) / 2)
        # The summary is sentences of the text.
        first = card["summary"].split(". ")[0].split()
        self.assertIn(" ".join(first), " ".join(text.split()))
        self.assertTrue(3 <= len(card["tags"]) <= 20, card["tags"])
        words = text.lower()
        for tag in card["tags"]:
            self.assertIn(tag.lower().split()[0], words)
        self.assertFalse({"the", "and", "of", "is"} & set(card["tags"]))

    def test_korean(self):
        text, card = self.analyse("ko")
        self.assertTrue(20 < len(card["summary"]) < len(text) / 2)
        hangul = [c for c in card["summary"] if "가" <= c <= "힣"]
        self.assertGreater(len(hangul), len(card["summary"]) / 3)
        self.assertTrue(3 <= len(card["tags"]) <= 20, card["tags"])
        for tag in card["tags"]:
            self.assertIn(tag.split()[0].lower(), text.lower())

    def test_what_was_sent_comes_back(self):
        sent = {"content": "한 \U0001f600 <b>&amp;\u2028\r\n'--", "title": "제목",
                "url": "https://example.org/?q=%00"}
        made = self.node.add_scrap(**sent)
        found = self.node.get("/api/scraps/" + made["scrap_id"]).json
        self.assertEqual({key: found[key] for key in sent}, sent)
        self.assertEqual((found["id"], found["user_id"]),
                         (made["scrap_id"], None))
        time_of(found["created_at"])
        bare = self.node.add_scrap("Only content.")
        found = self.node.get("/api/scraps/" + bare["scrap_id"]).json
        self.assertEqual((found["title"], found["url"]), (None, None))

    def test_scrap_and_job_are_one(self):
        count = ("SELECT (SELECT count(*) FROM scraps), "
                 "(SELECT count(*) FROM job WHERE target_id IN "
                 "(SELECT {} FROM scraps))")
        count = count.format("id" if self.store == "sqlite" else "id::text")
        before = self.node.database.sql(count)
        for body in ({"content": ""}, {"content": 5}, {}, {"title": "x"},
                     {"content": "x", "title": "t" * 501},
                     {"content": "x", "url": "u" * 4001}, [],
                     {"content": "x", "user_id": "someone"},
                     {"content": "x", "title": ""}):
            with self.subTest(body):
                self.assert_problem(self.node.post("/api/scraps", body), 400)
        self.assert_problem(self.node.post("/api/scraps", "content=x", {
            "Content-Type": "application/x-www-form-urlencoded"}), 415)
        self.assert_problem(self.node.post("/api/scraps",
                                           '{"content":"a\\u0000b"}'), 400)
        self.assertEqual(self.node.database.sql(count), before)
        self.node.add_scrap("A scrap with its job.")
        scraps, jobs = before[0]
        self.assertEqual(self.node.database.sql(count),
                         [[str(int(scraps) + 1), str(int(jobs) + 1)]])

    def test_an_idempotency_key_makes_one_scrap(self):
        key = {"Idempotency-Key": "scrap-1"}
        body = {"content": "Sent twice."}
        first = self.node.post("/api/scraps", body, key)
        again = self.node.post("/api/scraps", body, key)
        self.assertEqual((first.status, again.status), (200, 200))
        self.assertEqual(first.json, again.json)
        self.assertEqual(again.headers["Idempotency-Replayed"], "true")
        rows = self.node.database.sql(
            "SELECT count(*) FROM scraps WHERE content = 'Sent twice.'")
        self.assertEqual(rows, [["1"]])
        self.assert_problem(self.node.post("/api/scraps",
                                           {"content": "Else."}, key), 422)
        # The same key for another path is another request.
        self.assert_problem(self.node.post("/api/jobs", {
            "type": "CARD_ANALYSIS", "target_id": "x"}, key), 422)

    def test_a_deleted_target_fails_at_once(self):
        for target in (NO_ID, "no-uuid", "x" * 500):
            job = self.node.wait_for_job(self.node.add_job(target)["id"])
            self.assertEqual((job["status"], job["error_message"],
                              job["attempts"]), ("FAILED", GONE, 1))
            runs = self.node.attempts(job["id"])
            self.assertEqual([x["decision"] for x in runs], ["fail"])
            self.assertEqual(runs[0]["error"], GONE)

    def test_deleted_before_its_turn(self):
        fake = self.start_analysis()
        node = self.start_node({**fake.options, "workers": 1})
        blocker = node.add_scrap("!fault ok;delay=0.5\nKeeps the only slot.")
        node.wait_for_job(blocker["job_id"], "PROCESSING")
        made = node.add_scrap("Deleted before anyone looks at it.")
        path = "/api/scraps/" + made["scrap_id"]
        answer = node.request("DELETE", path)
        self.assertEqual((answer.status, answer.body), (204, b""))
        self.assert_problem(node.request("DELETE", path), 404)
        self.assert_problem(node.get(path), 404)
        job = node.wait_for_job(made["job_id"])
        self.assertEqual((job["status"], job["error_message"],
                          job["attempts"]), ("FAILED", GONE, 1))
        self.assertEqual(len(fake.calls()), 1)

    def test_deleted_while_it_is_analysed(self):
        fake = self.start_analysis()
        node = self.start_node(fake.options)
        made = node.add_scrap("!fault ok;delay=0.5\nDeleted half-way.")
        node.wait_for_job(made["job_id"], "PROCESSING")
        node.request("DELETE", "/api/scraps/" + made["scrap_id"])
        job = node.wait_for_job(made["job_id"])
        self.assertEqual((job["status"], job["error_message"]),
                         ("FAILED", GONE))
        found = node.get("/api/cards?scrap_id=" + made["scrap_id"]).json
        self.assertEqual(found["cards"], [])

    def test_processing_before_the_call(self):
        fake = self.start_analysis()
        node = self.start_node(fake.options)
        made = node.add_scrap("!fault ok;delay=0.5\nSeen while it runs.")
        job = node.wait_for_job(made["job_id"], "PROCESSING")
        self.assertEqual((job["attempts"], job["finished_at"]), (1, None))
        time_of(job["started_at"])
        done = node.wait_for_job(made["job_id"], "COMPLETED")
        self.assertEqual(done["result"]["model"], "fake-1")
        self.assertGreaterEqual(
            fake.calls()[0]["time"],
            time_of(job["started_at"]).timestamp() - 0.001)

    def test_cards(self):
        self.assertEqual(self.node.get("/api/cards?scrap_id=x").json,
                         {"cards": []})
        self.assert_problem(self.node.get("/api/cards/" + NO_ID), 404)
        self.assert_problem(self.node.get("/api/cards?scrap_id=x&y=1"), 400)


if __name__ == "__main__":
    unittest.main()
