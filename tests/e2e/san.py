# tests/e2e/san.py -- days of cards: summaries, TIL, recall, and search.
import datetime
import unittest

from faults import wait_until
from harness import (NodeTest, both_stores, quote, run_reeve, time_of)

NO_ID = "00000000-0000-7000-8000-000000000000"
GONE = "Target data not found (Already deleted)"


def noon() -> tuple[str, str]:
    """Today's date in a zone where midnight is far away."""
    now = datetime.datetime.now(datetime.timezone.utc)
    offset = 12 - now.hour
    # The signs of these names are the other way round.
    zone = "Etc/GMT" if offset == 0 else f"Etc/GMT{-offset:+d}"
    local = now + datetime.timedelta(hours=offset)
    return f"{local:%Y-%m-%d}", zone


@both_stores
class Days(NodeTest):
    def add_day(self, date: str, zone: str | None = None, headers=None,
                **fields):
        body = {"date": date, **fields}
        if zone is not None:
            body["time_zone"] = zone
        return self.node.post("/api/daily-summaries", body, headers)

    def test_created_once(self):
        first = self.add_day("2026-03-01", "Asia/Seoul", user_id="once")
        self.assertEqual(first.status, 201, first)
        self.assertEqual(set(first.json), {"daily_summary_id"})
        path = "/api/daily-summaries/" + first.json["daily_summary_id"]
        self.assertEqual(first.headers["Location"], path)
        again = self.add_day("2026-03-01", "Asia/Seoul", user_id="once")
        self.assertEqual((again.status, again.json), (200, first.json))
        for other in (self.add_day("2026-03-01", "UTC", user_id="once"),
                      self.add_day("2026-03-02", "Asia/Seoul", user_id="once"),
                      self.add_day("2026-03-01", "Asia/Seoul"),
                      self.add_day("2026-03-01", "Asia/Seoul", user_id="2")):
            self.assertEqual(other.status, 201)
            self.assertNotEqual(other.json, first.json)
        found = self.node.get(path).json
        self.assertEqual(
            {key: found[key] for key in found if key != "created_at"},
            {"id": first.json["daily_summary_id"], "date": "2026-03-01",
             "time_zone": "Asia/Seoul", "user_id": "once",
             "day_start": "2026-02-28T15:00:00.000Z",
             "day_end": "2026-03-01T15:00:00.000Z", "cards": [], "til": None,
             "recall": None})
        time_of(found["created_at"])

    def test_days_of_other_lengths(self):
        for date, zone, start, end in (
                ("2026-03-08", "America/New_York", "2026-03-08T05:00",
                 "2026-03-09T04:00"),
                ("2026-11-01", "America/New_York", "2026-11-01T04:00",
                 "2026-11-02T05:00"),
                ("2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00",
                 "2018-11-05T02:00")):
            made = self.add_day(date, zone)
            found = self.node.get("/api/daily-summaries/"
                                  + made.json["daily_summary_id"]).json
            self.assertEqual((found["day_start"], found["day_end"]),
                             (start + ":00.000Z", end + ":00.000Z"))

    def test_the_zone_of_the_settings(self):
        node = self.start_node({"san.time-zone": "Asia/Seoul"})
        made = node.post("/api/daily-summaries", {"date": "2026-03-01"})
        found = node.get(made.headers["Location"]).json
        self.assertEqual((found["time_zone"], found["day_start"]),
                         ("Asia/Seoul", "2026-02-28T15:00:00.000Z"))

    def test_wrong_days(self):
        for date in ("", "today", "2026-02-29", "2026-3-1", "2026-03-01T00",
                     "26-03-01", 20260301, None, "9999-01-01", "0000-00-00"):
            with self.subTest(date):
                self.assert_problem(self.add_day(date, "UTC"), 400, "date")
        for zone in ("", "Asia/Atlantis", "PST", "+09:00", "GMT+9", 9,
                     "asia/seoul", "../UTC", "x" * 65):
            with self.subTest(zone):
                self.assert_problem(self.add_day("2026-03-01", zone), 400,
                                    "time_zone")
        self.assert_problem(self.add_day("2011-12-30", "Pacific/Apia"), 400,
                            "does not exist")
        self.assert_problem(self.add_day("2026-03-01", colour="red"), 400)
        for path in (NO_ID, "x", "2026-99-99", "1999-01-01"):
            for method, rest in (("GET", ""), ("POST", "/til"),
                                 ("POST", "/recall")):
                self.assert_problem(self.node.request(
                    method, f"/api/daily-summaries/{path}{rest}"), 404)

    def cards_of(self, texts: list[str]) -> list[str]:
        """Ids of the cards made from texts, in their order."""
        result = []
        for text in texts:
            made = self.node.add_scrap(text)
            job = self.node.wait_for_job(made["job_id"])
            self.assertEqual(job["status"], "COMPLETED", job)
            result.append(job["result"]["card_id"])
        return result

    def run_for(self, path: str, kind: str) -> dict:
        answer = self.node.post(f"{path}/{kind}")
        self.assertEqual((answer.status, set(answer.json)), (202, {"job_id"}))
        self.assertEqual(answer.headers["Location"],
                         "/api/jobs/" + answer.json["job_id"])
        return self.node.wait_for_job(answer.json["job_id"])

    def test_til_of_a_day(self):
        self.node = self.start_node()
        cards = self.cards_of([
            "Sourdough bread rises slowly. Wild yeast needs a day.",
            "Raft elects a leader. A leader sends heartbeats to followers."])
        date, zone = noon()
        path = self.add_day(date, zone).headers["Location"]
        found = self.node.get(path).json
        self.assertEqual([x["id"] for x in found["cards"]], cards)
        self.assertNotIn("embedding", found["cards"][0])
        job = self.run_for(path, "til")
        self.assertEqual((job["status"], job["type"], job["target_id"]),
                         ("COMPLETED", "TIL_GENERATION", found["id"]), job)
        til = self.node.get(path).json["til"]
        self.assertEqual(set(til), {"id", "job_id", "content", "card_ids",
                                    "model", "created_at"})
        self.assertEqual((til["id"], til["job_id"], til["card_ids"]),
                         (job["result"]["til_id"], job["id"], cards))
        self.assertTrue(til["content"])
        # By its date, and by a plain job with a date as the target.
        job = self.run_for("/api/daily-summaries/" + date, "til")
        self.assertEqual(job["target_id"], found["id"])
        plain = self.node.add_job(date, type="TIL_GENERATION")
        self.assertEqual(self.node.wait_for_job(plain["id"])["status"],
                         "COMPLETED")
        self.assertEqual(self.node.get(path).json["til"]["job_id"],
                         plain["id"])
        # The cards stay when their scraps go.
        scrap = found["cards"][0]["scrap_id"]
        self.node.request("DELETE", "/api/scraps/" + scrap)
        self.assertEqual(len(self.node.get(path).json["cards"]), 2)

    def test_a_second_click_is_the_same_job(self):
        path = self.add_day("2026-04-01", "UTC").headers["Location"]
        for kind, type_ in (("til", "TIL_GENERATION"),
                            ("recall", "RECALL_GENERATION")):
            self.node.post(f"/api/types/{type_}/pause")
            first = self.node.post(f"{path}/{kind}")
            again = self.node.post(f"{path}/{kind}", {})
            self.assertEqual((first.status, again.status), (202, 202))
            self.assertEqual(first.json, again.json)
            self.node.post(f"/api/types/{type_}/resume")
            job = self.node.wait_for_job(first.json["job_id"])
            # A day without cards has nothing to tell.
            self.assertEqual((job["status"], job["error_message"],
                              job["attempts"]),
                             ("FAILED", "no cards on 2026-04-01", 1))
            later = self.node.post(f"{path}/{kind}")
            self.assertNotEqual(later.json, first.json)
            self.node.wait_for_job(later.json["job_id"])
        for body in ({"date": "2026-04-01"}, [], "x"):
            self.assert_problem(self.node.post(path + "/til", body), 400)

    def test_a_target_that_is_not_there(self):
        for type_ in ("TIL_GENERATION", "RECALL_GENERATION"):
            for target in (NO_ID, "2020-01-01", "no-day"):
                job = self.node.wait_for_job(
                    self.node.add_job(target, type=type_)["id"])
                self.assertEqual((job["status"], job["error_message"],
                                  job["attempts"]), ("FAILED", GONE, 1))

    def test_recall_of_older_cards(self):
        self.node = self.start_node()
        old = self.cards_of([
            "Sourdough bread needs wild yeast. Bread dough rises slowly.",
            "Glaciers carve valleys. Ice moves stones over centuries."])
        self.node.terminate()
        self.node.database.sql(
            "UPDATE knowledge_cards SET created_at = created_at - "
            + ("432000000000" if self.store == "sqlite"
               else "interval '5 days'"))
        self.node.start()
        today = self.cards_of(
            ["Bread dough with wild yeast. Sourdough bread tastes sour."])
        date, zone = noon()
        path = self.add_day(date, zone).headers["Location"]
        self.assertEqual([x["id"] for x in self.node.get(path).json["cards"]],
                         today)
        job = self.run_for(path, "recall")
        self.assertEqual(job["status"], "COMPLETED", job)
        recall = self.node.get(path).json["recall"]
        self.assertEqual(set(recall), {"id", "job_id", "content", "related",
                                       "model", "created_at"})
        self.assertTrue(recall["content"])
        self.assertEqual(recall["related"][0]["card_id"], old[0])
        self.assertTrue(0 < recall["related"][0]["similarity"] <= 1.0001)
        self.assertNotIn(today[0], [x["card_id"] for x in recall["related"]])
        self.assertIsNone(self.node.get(path).json["til"])

    def recall(self, query: str, headers=None):
        return self.node.get("/api/recall?" + query, headers)

    def test_search(self):
        self.node = self.start_node()
        self.assertEqual(self.recall("q=bread").json, {"cards": []})
        bread, ice = self.cards_of([
            "Sourdough bread needs wild yeast. Bread dough rises slowly.",
            "Glaciers carve valleys. Ice moves stones over centuries."])
        found = self.recall("q=wild+yeast+for+sourdough+bread").json["cards"]
        self.assertEqual(found[0]["id"], bread)
        self.assertEqual([x["id"] for x in found[1:]],
                         [ice] if len(found) > 1 else [])
        similarities = [x["similarity"] for x in found]
        self.assertEqual(similarities, sorted(similarities, reverse=True))
        self.assertTrue(0.2 < similarities[0] <= 1.0001, similarities)
        self.assertNotIn("embedding", found[0])
        self.assertEqual(self.recall("q=glaciers+and+ice&limit=1").json[
            "cards"][0]["id"], ice)
        # A card that is new is found at once.
        [new] = self.cards_of(["Tides follow the moon. The sea falls back."])
        self.assertEqual(self.recall("q=tides+of+the+moon&limit=1").json[
            "cards"][0]["id"], new)
        for text in ("\U0001f600", "'; DROP TABLE x; --", "%", "e\u0301",
                     "x" * 4000):
            self.assertEqual(self.recall("q=" + quote(text)).status, 200, text)
        for query in ("", "q=", "q=%20", "q=%0A", "q=%E2%80%AE", "q=%00",
                      "q=%FF", "q=" + "x" * 4001, "q=x&limit=0",
                      "q=x&limit=101", "q=x&limit=a", "q=x&user_id=y"):
            self.assert_problem(self.recall(query), 400)


@both_stores
class Owners(NodeTest):
    options = {"auth.mode": "api-key"}

    def test_days_and_cards_are_their_makers(self):
        kim, lee = [{"Authorization": "Bearer " + run_reeve(
            "keys", "create", "--name=x", "--role=client", "--user=" + user,
            "--database.url=" + self.node.database.url).stdout.strip()}
            for user in ("kim", "lee")]
        made = self.node.post("/api/scraps", {
            "content": "Kim bakes bread. Bread is good."}, kim).json
        path = f"/api/jobs/{made['job_id']}"
        wait_until(lambda: self.node.get(path, kim).json["status"]
                   == "COMPLETED", "the card")
        self.assertEqual(len(self.node.get("/api/recall?q=bread", kim).json[
            "cards"]), 1)
        self.assertEqual(self.node.get("/api/recall?q=bread", lee).json[
            "cards"], [])
        date, zone = noon()
        body = {"date": date, "time_zone": zone}
        day = self.node.post("/api/daily-summaries", body, kim)
        self.assertEqual(day.status, 201)
        where = day.headers["Location"]
        self.assertEqual(len(self.node.get(where, kim).json["cards"]), 1)
        for method, rest in (("GET", ""), ("POST", "/til"),
                             ("POST", "/recall")):
            self.assert_problem(
                self.node.request(method, where + rest, headers=lee), 404)
            self.assert_problem(self.node.request(
                method, f"/api/daily-summaries/{date}{rest}", headers=lee),
                404)
        self.assert_problem(self.node.post(
            "/api/daily-summaries", {**body, "user_id": "kim"}, lee), 403)
        self.assert_problem(
            self.node.get(f"/api/daily-summaries/{date}?user_id=kim", lee),
            403)
        # The target does not tell whose it is, so the run looks.
        answer = self.node.post("/api/jobs", {
            "type": "TIL_GENERATION",
            "target_id": day.json["daily_summary_id"]}, lee)
        path = "/api/jobs/" + answer.json["id"]
        wait_until(lambda: self.node.get(path, lee).json["status"]
                   == "FAILED", "the refusal")
        self.assertEqual(self.node.get(path, lee).json["error_message"], GONE)


if __name__ == "__main__":
    unittest.main()
