# tests/e2e/api_stats.py -- what the dashboard is drawn from: counts over time,
# the stream of them, and the lists of books and cards.
import contextlib
import time
import unittest

from book_shop import BookTest
from faults import wait_until
from harness import NodeTest, both_stores, time_in, time_of


def next_event(stream, name: str, fits=lambda body: True) -> dict:
    """The body of the next event of that name that fits."""
    return stream.until(lambda event: event.event == name
                        and fits(event.data)).data


@both_stores
class Stream(NodeTest):

    options = {"types.WAITING.processor": "command",
               "types.WAITING.command": '["/bin/sleep", "600"]'}

    def test_it_begins_with_all_and_goes_on_with_changes(self):
        with self.node.sse("/api/stats/events") as stream:
            first = next_event(stream, "stats")
            self.assertEqual(first["node"], "node-1")
            self.assertEqual(
                {k: v for k, v in first.items()
                 if k not in ("node", "changes")},
                self.node.get("/api/stats").json)
            self.assertEqual(next_event(stream, "types"),
                             self.node.get("/api/types").json)
            self.assertEqual(next_event(stream, "providers"),
                             self.node.get("/api/providers").json)
            before = first["by_type"].get("WAITING", {}).get("PENDING", 0)
            job = self.node.add_job(type="WAITING", run_at=time_in(3600))
            now = next_event(stream, "stats", lambda x: x["by_type"].get(
                "WAITING", {}).get("PENDING", 0) == before + 1)
            self.assertGreater(now["changes"], first["changes"])
            self.node.post("/api/types/WAITING/pause", {"reason": "a test"})
            next_event(stream, "types", lambda x: any(
                y["type"] == "WAITING" and y["reason"] == "a test"
                for y in x["types"]))
            self.node.post("/api/types/WAITING/resume")
            self.node.post(f"/api/jobs/{job['id']}/cancel")
            next_event(stream, "stats",
                       lambda x: x["jobs"]["CANCELLED"] >= 1)

    def test_many_watchers_cost_what_one_does(self):
        def asked():
            query, = [x for x in self.node.get("/api/actors").json["actors"]
                      if x["name"] == "query"]
            return query["messages"]
        with contextlib.ExitStack() as stack:
            streams = [stack.enter_context(
                self.node.sse("/api/stats/events")) for _ in range(20)]
            for stream in streams:
                next_event(stream, "stats")
            before, begun = asked(), time.monotonic()
            # Each change is told a second after the last one, at the soonest.
            for number in range(3):
                self.node.add_job(type="WAITING", run_at=time_in(3600))
                for stream in streams:
                    next_event(stream, "stats")
            seconds = time.monotonic() - begun
            # Counts and types for all; were it for each, 40 a second.
            self.assertLess(asked() - before, 5 * (seconds + 1))

    def test_history(self):
        # The first sample is taken once the database answers.
        history = wait_until(lambda: (lambda x: x if x["at"] else None)(
            self.node.get("/api/stats/history").json), "a sample")
        self.assertEqual(set(history), {"spacing_seconds", "at",
                                        "oldest_due_seconds", "types"})
        times = [time_of(x) for x in history["at"]]
        self.assertEqual(times, sorted(times))
        self.assertEqual(len(history["oldest_due_seconds"]), len(times))
        for series in history["types"].values():
            for values in series.values():
                self.assertEqual(len(values), len(times))
        self.assert_problem(self.node.get("/api/stats/history?x=1"), 400)
        self.assert_problem(self.node.get("/api/stats/events?x=1"), 400)
        self.assert_problem(self.node.post("/api/stats/history", {}), 405)


@both_stores
class Lists(BookTest):

    def test_books_and_cards_page_by_page(self):
        self.grant(self.node, 1000)
        books = [self.ordered(self.node, 1) for _ in range(3)]
        made = [self.node.add_scrap(f"The text of scrap number {i} is short.")
                for i in range(3)]
        for x in books + made:
            self.assertEqual(self.node.wait_for_job(x["job_id"])["status"],
                             "COMPLETED")
        self.check_pages("/api/contents", "contents", [
            self.node.get("/api/contents/" + x["content_id"]).json
            for x in reversed(books)])
        cards = [self.node.get(f"/api/cards?scrap_id={x['scrap_id']}").json[
            "cards"][0] for x in made]
        for card in cards:
            del card["embedding"], card["embedding_dimension"]
        self.check_pages("/api/cards", "cards", sorted(
            cards, key=lambda x: x["id"], reverse=True))

    def check_pages(self, path: str, name: str, expected: list[dict]):
        everything = self.node.get(path).json
        self.assertEqual(everything, {name: expected, "next_cursor": None})
        first = self.node.get(path + "?limit=2").json
        self.assertEqual(first[name], expected[:2])
        self.assertEqual(first["next_cursor"], expected[1]["id"])
        rest = self.node.get(
            f"{path}?limit=2&cursor={first['next_cursor']}").json
        self.assertEqual(rest, {name: expected[2:], "next_cursor": None})
        for bad in ("limit=0", "limit=x", "cursor=1", "cursor=", "x=1"):
            self.assert_problem(self.node.get(f"{path}?{bad}"), 400)


if __name__ == "__main__":
    unittest.main()
