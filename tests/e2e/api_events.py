# tests/e2e/api_events.py -- server-sent events: nothing missed or repeated.
import socket
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from harness import NodeTest, Timeout, both_stores, time_in

NO_ID = "00000000-0000-7000-8000-000000000000"
PAUSED = time_in(3600)


@both_stores
class OneJob(NodeTest):
    def test_from_pending_to_completed(self):
        fake = self.start_analysis()
        node = self.start_node({**fake.options, "workers": 1})
        blocker = node.add_scrap("!fault ok;delay=0.5\nKeeps the only slot.")
        node.wait_for_job(blocker["job_id"], "PROCESSING")
        made = node.add_scrap("Watched from its first state to its last.")
        with node.sse(f"/api/jobs/{made['job_id']}/events") as stream:
            self.assertEqual(stream.headers["Content-Type"],
                             "text/event-stream")
            self.assertEqual(stream.headers["Cache-Control"], "no-store")
            events = list(stream)
        self.assertEqual({x.event for x in events}, {"job"})
        states = [x.data["status"] for x in events]
        self.assertEqual(states[0], "PENDING")
        self.assertEqual(states[-1], "COMPLETED")
        self.assertEqual(set(states[1:-1]), {"PROCESSING"})
        versions = [int(x.id) for x in events]
        self.assertEqual(versions, [x.data["version"] for x in events])
        self.assertEqual(versions,
                         list(range(versions[0], versions[0] + len(events))))
        self.assertEqual(events[-1].data, node.job(made["job_id"]))

    def test_the_current_state_comes_first(self):
        job = self.node.add_job(run_at=PAUSED)
        path = f"/api/jobs/{job['id']}"
        with self.node.sse(path + "/events") as stream:
            self.assertEqual(stream.next().data, self.node.job(job["id"]))
            with self.assertRaises(Timeout):
                stream.next(timeout=0.3)
        with self.node.sse(path + "/events") as stream:
            stream.next()
            self.node.post(path + "/cancel")
            self.assertEqual(stream.next().data["status"], "CANCELLED")
            self.assertIsNone(stream.next())

    def test_a_finished_job_is_one_event(self):
        job = self.node.wait_for_job(self.node.add_job()["id"])
        with self.node.sse(f"/api/jobs/{job['id']}/events") as stream:
            events = list(stream)
        self.assertEqual([x.data for x in events], [job])

    def test_resumes(self):
        job = self.node.wait_for_job(self.node.add_job()["id"])
        path = f"/api/jobs/{job['id']}/events"
        last = job["version"]
        for seen in range(last):
            with self.node.sse(path, {"Last-Event-ID": str(seen)}) as stream:
                versions = [int(x.id) for x in stream]
            self.assertEqual(versions, list(range(seen + 1, last + 1)))

    def test_resuming_at_the_end(self):
        job = self.node.wait_for_job(self.node.add_job()["id"])
        path = f"/api/jobs/{job['id']}/events"
        # All of it was seen; a 204 tells browsers not to come back.
        answer = self.node.get(path, {"Last-Event-ID": str(job["version"])})
        self.assertEqual((answer.status, answer.body), (204, b""))
        # A version that never was: from the start.
        with self.node.sse(path, {"Last-Event-ID": "999999"}) as stream:
            self.assertEqual(list(stream)[-1].data, job)

    def test_refused(self):
        job = self.node.add_job(run_at=PAUSED)
        for last in ("x", "-1", "1.5", "99999999999999999999", "1 2"):
            answer = self.node.get(f"/api/jobs/{job['id']}/events",
                                   {"Last-Event-ID": last})
            self.assert_problem(answer, 400, "Last-Event-ID")
        self.assert_problem(self.node.get(f"/api/jobs/{NO_ID}/events"), 404)
        self.assert_problem(
            self.node.get(f"/api/jobs/{job['id']}/events?x=1"), 400, "x")

    def test_head_has_no_events(self):
        job = self.node.wait_for_job(self.node.add_job()["id"])
        answer = self.node.request("HEAD", f"/api/jobs/{job['id']}/events")
        self.assertEqual((answer.status, answer.body), (200, b""))
        self.assertEqual(answer.headers["Content-Type"], "text/event-stream")

    def test_no_text_forges_a_field(self):
        for text in ("\n\nevent: job\ndata: {}\n\n", "\r\rid: 9\r\r",
                     "\r\n\r\nretry: 1\r\n", "\u2028data: x\u2029",
                     "\x0b\x0c\x1c\x85id: 7", "a\n:comment", "\ufeffdata: 1"):
            job = self.node.add_job(text, payload={"x": text}, user_id=text,
                                    run_at=PAUSED)
            with self.node.sse(f"/api/jobs/{job['id']}/events") as stream:
                event = stream.next()
                self.assertEqual((event.event, event.id, event.retry),
                                 ("job", str(job["version"]), None))
                self.assertEqual(event.data["target_id"], text)
                self.assertEqual(stream.comments, 0)
                with self.assertRaises(Timeout):
                    stream.next(timeout=0.05)

    def test_two_hundred_at_once(self):
        job = self.node.add_job(run_at=PAUSED)
        path = f"/api/jobs/{job['id']}"
        streams = [self.node.sse(path + "/events") for _ in range(200)]
        try:
            for stream in streams:
                self.assertEqual(stream.next().data["status"], "PENDING")
            self.node.post(path + "/cancel")
            for stream in streams:
                self.assertEqual(stream.next().data["status"], "CANCELLED")
                self.assertIsNone(stream.next())
        finally:
            for stream in streams:
                stream.close()


@both_stores
class Feed(NodeTest):
    def add(self, count: int, **fields) -> list[str]:
        answer = self.node.post("/api/jobs/batch", {"jobs": [
            {"type": "CARD_ANALYSIS", "target_id": "t", "run_at": PAUSED,
             **fields} for _ in range(count)]})
        return [job["id"] for job in answer.json["jobs"]]

    def test_starts_with_what_comes(self):
        self.add(1)
        with self.node.sse("/api/events") as feed:
            new = self.add(3)
            events = [feed.next() for _ in new]
        self.assertEqual([x.data["id"] for x in events], new)
        numbers = [int(x.id) for x in events]
        self.assertEqual(numbers, sorted(set(numbers)))

    def test_filters(self):
        with self.node.sse("/api/events?type=CARD_ANALYSIS") as cards, \
                self.node.sse("/api/events?type=OTHER") as others, \
                self.node.sse("/api/events?user_id=kim") as of_kim:
            foreign, own = self.add(1, user_id="lee"), self.add(1,
                                                                user_id="kim")
            self.assertEqual([cards.next().data["id"] for _ in range(2)],
                             foreign + own)
            self.assertEqual(of_kim.next().data["id"], own[0])
            for feed in (others, of_kim):
                with self.assertRaises(Timeout):
                    feed.next(timeout=0.2)
        self.assert_problem(self.node.get("/api/events?status=FAILED"), 400,
                            "status")

    def test_resumes_without_gap_or_repeat(self):
        with self.node.sse("/api/events") as feed:
            expected = self.add(40)
            seen = [feed.next() for _ in range(7)]
        while len(seen) < len(expected):
            with self.node.sse("/api/events",
                               {"Last-Event-ID": seen[-1].id}) as feed:
                for _ in range(min(7, len(expected) - len(seen))):
                    seen.append(feed.next())
        self.assertEqual({x.event for x in seen}, {"job"})
        self.assertEqual([x.data["id"] for x in seen], expected)
        # What comes while nobody watches is there for who comes back.
        missed = self.add(3)
        with self.node.sse("/api/events",
                           {"Last-Event-ID": seen[-1].id}) as feed:
            self.assertEqual([feed.next().data["id"] for _ in missed], missed)

    def test_resets_where_it_cannot_resume(self):
        self.add(1)
        with self.node.sse("/api/events",
                           {"Last-Event-ID": str(2**62)}) as feed:
            event = feed.next()
            self.assertEqual((event.event, event.data), ("reset", {}))
            new = self.add(1)
            follower = feed.next()
            self.assertEqual(follower.data["id"], new[0])
        # From a reset's id on there is no gap.
        with self.node.sse("/api/events",
                           {"Last-Event-ID": event.id}) as feed:
            self.assertEqual(feed.next(), follower)

    def test_resets_after_a_restart(self):
        node = self.start_node()
        with node.sse("/api/events") as feed:
            node.add_job(run_at=PAUSED)
            node.add_job(run_at=PAUSED)
            feed.next()
            last = feed.next().id
        node.terminate()
        node.start()
        node.add_job(run_at=PAUSED)
        node.add_job(run_at=PAUSED)
        node.add_job(run_at=PAUSED)
        # Numbers of another run of the node must not be taken for its own.
        with node.sse("/api/events", {"Last-Event-ID": last}) as feed:
            self.assertEqual(feed.next().event, "reset")

    def test_resets_when_the_buffer_no_longer_reaches_back(self):
        node = self.start_node()
        with node.sse("/api/events") as feed:
            node.add_job(run_at=PAUSED)
            first = feed.next().id
        batch = {"jobs": [{"type": "CARD_ANALYSIS", "target_id": "t",
                           "run_at": PAUSED}] * 1000}
        for _ in range(5):
            self.assertEqual(node.post("/api/jobs/batch", batch).status, 202)
        with node.sse("/api/events", {"Last-Event-ID": first}) as feed:
            self.assertEqual(feed.next().event, "reset")

    def test_garbage_ids(self):
        for last in ("x", "-5", "1.5", "0x10", "99999999999999999999"):
            answer = self.node.get("/api/events", {"Last-Event-ID": last})
            self.assert_problem(answer, 400, "Last-Event-ID")

    def test_a_slow_reader_is_cut_off(self):
        node = self.start_node({"http.max-unsent-bytes": 65536})
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.settimeout(20)
        slow.connect(("127.0.0.1", node.port))
        slow.sendall(b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        with slow, node.sse("/api/events") as quick:
            body = {"type": "CARD_ANALYSIS", "target_id": "t",
                    "run_at": PAUSED, "payload": {"x": "y" * 50_000}}
            deadline = time.monotonic() + 20
            number = 0
            while "http.slow-reader" not in node.log:
                self.assertLess(time.monotonic(), deadline, "not cut off")
                body["target_id"] = f"t{number}"
                self.assertEqual(node.post("/api/jobs", body).status, 202)
                self.assertEqual(quick.next().data["target_id"], f"t{number}")
                number += 1
            # What the kernel holds ends; the connection is closed behind it.
            total = 0
            try:
                while chunk := slow.recv(65536):
                    total += len(chunk)
            except ConnectionResetError:
                pass
            self.assertLess(total, number * 50_000)
            node.add_job("last", run_at=PAUSED)
            self.assertEqual(quick.next().data["target_id"], "last")

    def test_every_watcher_gets_every_event(self):
        feeds = [self.node.sse("/api/events?user_id=many") for _ in range(50)]
        try:
            with ThreadPoolExecutor(8) as pool:
                added = list(pool.map(
                    lambda _: self.node.add_job(run_at=PAUSED,
                                                user_id="many")["id"],
                    range(40)))
            seen = [[feed.next().data["id"] for _ in added] for feed in feeds]
        finally:
            for feed in feeds:
                feed.close()
        self.assertEqual(sorted(seen[0]), sorted(added))
        self.assertTrue(all(x == seen[0] for x in seen))


if __name__ == "__main__":
    unittest.main()
