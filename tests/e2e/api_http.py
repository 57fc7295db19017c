# tests/e2e/api_http.py -- HTTP/1.1 byte by byte, from friends and from others.
import json
import socket
import time
import unittest

from harness import both_stores, time_in
from raw_http import GET, HOST, Http, canary, is_closed, post, read_answers


class Connections(Http):
    def test_keep_alive(self):
        with self.node.connect() as client:
            for _ in range(20):
                client.sendall(GET)
                [(status, headers, body)] = read_answers(client, 1)
                self.assertEqual((status, json.loads(body)),
                                 (200, {"status": "ok"}))
                self.assertNotEqual(headers.get("connection"), "close")
                self.assertRegex(headers["date"], r"^\w{3}, \d\d .* GMT$")

    def test_fifty_pipelined_are_answered_in_order(self):
        paths = []
        for i in range(50):
            paths.append([b"/healthz", b"/api/jobs?limit=1", b"/nowhere",
                          b"/api/stats", b"/api/jobs/x"][i % 5])
        data = b"".join(b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n"
                        for path in paths)
        answers = self.send(data, count=50)
        expected = [200, 200, 404, 200, 404] * 10
        self.assertEqual([x[0] for x in answers], expected)
        self.assertIn(b"next_cursor", answers[1][2])
        self.assertIn(b"by_type", answers[3][2])

    def test_pipelined_writes_take_effect_in_order(self):
        data = b"".join(canary(f"pipe-{i}") for i in range(50))
        answers = self.send(data, count=50)
        self.assertEqual([json.loads(x[2])["target_id"] for x in answers],
                         [f"pipe-{i}" for i in range(50)])
        created = [json.loads(x[2])["created_at"] for x in answers]
        self.assertEqual(created, sorted(created))

    def test_split_at_every_byte(self):
        request = post(b'{"type":"NO_SUCH","target_id":"x"}')
        for at in range(1, len(request)):
            with self.node.connect() as client:
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                client.sendall(request[:at])
                # A request on another connection: the first part was read.
                if at % 16 == 0:
                    self.assertEqual(self.node.get("/healthz").status, 200)
                client.sendall(request[at:])
                [(status, _, body)] = read_answers(client, 1)
            self.assertEqual(status, 400, at)
            self.assertIn(b"NO_SUCH", body)

    def test_byte_by_byte(self):
        with self.node.connect() as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            chunked = (b"POST /api/jobs HTTP/1.1\r\n" + HOST
                       + b"Content-Type: application/json\r\n"
                         b"Transfer-Encoding: chunked\r\n\r\n"
                         b"5;x=y\r\n{\"typ\r\n1c\r\n"
                         b"e\":\"NO_SUCH\",\"target_id\":\"x\"\r\n1\r\n}\r\n"
                         b"0\r\nTrailer: x\r\n\r\n")
            for byte in chunked + GET:
                client.sendall(bytes([byte]))
            answers = read_answers(client, 2)
        self.assertEqual([x[0] for x in answers], [400, 200])
        self.assertIn(b"NO_SUCH", answers[0][2])

    def test_http_1_0(self):
        for extra, closes in ((b"", True), (b"Connection: keep-alive\r\n",
                                            False)):
            with self.node.connect() as client:
                client.sendall(b"GET /healthz HTTP/1.0\r\n" + extra + b"\r\n")
                [(status, headers, _)] = read_answers(client, 1)
                self.assertEqual(status, 200)
                if closes:
                    self.assertTrue(is_closed(client))
                else:
                    self.assertEqual(headers["connection"], "keep-alive")
                    client.sendall(GET)
                    self.assertEqual(read_answers(client, 1)[0][0], 200)

    def test_connection_close(self):
        request = GET.replace(HOST, HOST + b"Connection: close\r\n")
        with self.node.connect() as client:
            client.sendall(request + canary("canary"))
            [(status, headers, _)] = read_answers(client)
        self.assertEqual((status, headers["connection"]), (200, "close"))
        self.assertEqual(self.canaries(), 0)

    def test_a_client_that_stops_sending_is_answered(self):
        self.assertEqual(self.statuses(GET + GET), [200, 200])

    def test_expect_continue(self):
        with self.node.connect() as client:
            head, _, body = post(b'{"type":"NO_SUCH","target_id":"x"}',
                                 extra=b"Expect: 100-continue\r\n"
                                 ).partition(b"\r\n\r\n")
            client.sendall(head + b"\r\n\r\n")
            self.assertEqual(client.recv(100),
                             b"HTTP/1.1 100 Continue\r\n\r\n")
            client.sendall(body)
            self.assertEqual(read_answers(client, 1)[0][0], 400)

    def test_head_keeps_the_frame(self):
        requests = [("HEAD", "/healthz"), ("GET", "/healthz"),
                    ("HEAD", "/nowhere"), ("OPTIONS", "/api/jobs"),
                    ("HEAD", "/api/jobs"), ("HEAD", "/metrics"),
                    ("GET", "/api/jobs")]
        data = b"".join(f"{method} {path} HTTP/1.1\r\n".encode() + HOST
                        + b"\r\n" for method, path in requests)
        answers = self.send(data, count=len(requests),
                            methods=[x[0] for x in requests])
        self.assertEqual([x[0] for x in answers],
                         [200, 200, 404, 204, 200, 200, 200])
        self.assertEqual(answers[0][1]["content-length"],
                         str(len(answers[1][2])))
        self.assertNotIn("content-length", answers[3][1])


class Limits(Http):
    def refused(self, data: bytes, status: int, node=None):
        """One answer, then the end: nothing behind it is run."""
        before = self.canaries()
        answers = self.send(data + canary("canary"), node=node)
        self.assertEqual([x[0] for x in answers], [status], data[:200])
        self.assertEqual(answers[0][1]["connection"], "close")
        self.assertEqual(answers[0][1]["content-type"],
                         "application/problem+json")
        problem = json.loads(answers[0][2])
        self.assertEqual(set(problem), {"type", "title", "status", "detail"})
        self.assertEqual(self.canaries(), before)

    def test_header_fields_too_large(self):
        def fields(text):
            return b"GET /healthz HTTP/1.1\r\n" + HOST + text + b"\r\n"

        self.refused(fields(b"X: " + b"x" * 16384 + b"\r\n"), 431)
        self.refused(fields(b"X: y\r\n" * 100), 431)
        self.refused(b"GET /healthz HTTP/1.1\r\n" + HOST + b"X: "
                     + b"x" * 100_000, 431)
        self.assertEqual(self.statuses(fields(b"X: y\r\n" * 99)), [200])
        self.assertEqual(self.statuses(fields(b"X: " + b"x" * 15000
                                              + b"\r\n")), [200])

    def test_target_too_long(self):
        self.refused(b"GET /" + b"x" * 8192 + b" HTTP/1.1\r\n" + HOST
                     + b"\r\n", 414)
        self.assertEqual(self.statuses(b"GET /" + b"x" * 8191
                                       + b" HTTP/1.1\r\n" + HOST + b"\r\n"),
                         [404])

    def test_body_too_large_before_it_is_sent(self):
        for length in (1024 * 1024 + 1, 10**10, 2**63, 2**64 - 1):
            with self.node.connect() as client:
                client.sendall(b"POST /api/jobs HTTP/1.1\r\n" + HOST
                               + b"Content-Type: application/json\r\n"
                                 b"Content-Length: %d\r\n\r\n" % length)
                answers = read_answers(client)
            self.assertEqual([x[0] for x in answers], [413], length)

    def test_answer_reaches_a_client_that_sends_first(self):
        body = b" " * (16 * 1024 * 1024)
        with self.node.connect() as client:
            client.sendall(b"POST /api/jobs HTTP/1.1\r\n" + HOST
                           + b"Content-Type: application/json\r\n"
                             b"Content-Length: %d\r\n\r\n" % len(body))
            client.sendall(body)
            answers = read_answers(client)
        self.assertEqual([x[0] for x in answers], [413])

    def test_chunked_body_too_large(self):
        with self.node.connect() as client:
            client.sendall(b"POST /api/jobs HTTP/1.1\r\n" + HOST
                           + b"Content-Type: application/json\r\n"
                             b"Transfer-Encoding: chunked\r\n\r\n")
            try:
                for _ in range(20):
                    client.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
            except (BrokenPipeError, ConnectionResetError):
                pass
            try:
                answer = client.recv(100)
            except ConnectionResetError:
                answer = b""
        # The reset may overtake the answer; a 2xx would be wrong.
        self.assertIn(answer[:12], (b"HTTP/1.1 413", b""))

    def test_other_versions_and_methods(self):
        self.refused(b"GET /healthz HTTP/2.0\r\n" + HOST + b"\r\n", 505)
        self.refused(b"GET /healthz HTTP/1.2\r\n" + HOST + b"\r\n", 505)
        self.refused(b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n",
                     501)
        self.refused(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505)

    def test_smuggling(self):
        chunked = b"Transfer-Encoding: chunked\r\n"
        zero = b"0\r\n\r\n"
        four = b"Content-Length: 4\r\n"

        def head(fields: bytes, body: bytes = b"", host: bytes = HOST):
            return (b"POST /api/jobs HTTP/1.1\r\n" + host + fields + b"\r\n"
                    + body)

        for data in (
                head(four + chunked, zero), head(chunked + four, zero),
                head(b"Transfer-Encoding: xchunked\r\n", zero),
                head(b"Transfer-Encoding: chunked, identity\r\n", zero),
                head(b"Transfer-Encoding: chunked, chunked\r\n", zero),
                head(b"Transfer-Encoding: gzip, chunked\r\n", zero),
                head(b"Transfer-Encoding: \x0bchunked\r\n", zero),
                head(b"Transfer-Encoding:\r\n", zero),
                head(chunked + chunked, zero),
                head(b"Transfer-Encoding : chunked\r\n", zero),
                head(b"Transfer-Encoding\r\n : chunked\r\n", zero),
                head(b"X: y\r\n Transfer-Encoding: chunked\r\n", zero),
                head(b"X: y\nTransfer-Encoding: chunked\r\n", zero),
                head(b"X: y\rTransfer-Encoding: chunked\r\n", zero),
                head(b"Content-Length: 4\r\nContent-Length: 5\r\n", b"{}  x"),
                head(b"Content-Length: 4, 5\r\n", b"{}  x"),
                head(b"Content-Length: +4\r\n", b"{}  "),
                head(b"Content-Length: -1\r\n"),
                head(b"Content-Length: 0x4\r\n", b"{}  "),
                head(b"Content-Length: 4 4\r\n", b"{}  "),
                head(b"Content-Length: 4.0\r\n", b"{}  "),
                head(b"Content-Length:\r\n", b"{}  "),
                head(b"Content-Length : 4\r\n", b"{}  "),
                head(b"Content-Length: \x004\r\n", b"{}  "),
                head(chunked, b"g\r\n"), head(chunked, b"-1\r\n"),
                head(chunked, b"0x1\r\n{\r\n" + zero),
                head(chunked, b" 1\r\n{\r\n" + zero),
                head(chunked, b"1\n{\r\n" + zero),
                head(chunked, b"1\r\n{}\r\n" + zero),
                head(chunked, b"1\r\n{X" + zero),
                head(chunked, b"fffffffffffffffff\r\n"),
                head(chunked, b"\r\n" + zero),
                head(b"no colon here\r\n"), head(b": no name\r\n"),
                head(b"a b: c\r\n"), head(b"X: \x00\r\n"),
                head(b"\xc3\xa9: x\r\n"), head(b" X: y\r\n"),
                head(b"", host=b""), head(b"", host=HOST + HOST),
                head(b"", host=HOST + b"Host: evil.test\r\n"),
                head(b"", host=b"Host: a b\r\n"),
                head(b"", host=b"Host: localhost/x\r\n"),
                b"POST /api/jobs HTTP/1.1\n" + HOST + b"\r\n",
                b"POST  /api/jobs HTTP/1.1\r\n" + HOST + b"\r\n",
                b"POST /api/jobs  HTTP/1.1\r\n" + HOST + b"\r\n",
                b"POST\t/api/jobs HTTP/1.1\r\n" + HOST + b"\r\n",
                b"POST /api/jobs HTTP/1.1 \r\n" + HOST + b"\r\n",
                b"POST /api/jobs\r\n" + HOST + b"\r\n",
                b"POST /api/jobs http/1.1\r\n" + HOST + b"\r\n",
                b"POST api/jobs HTTP/1.1\r\n" + HOST + b"\r\n",
                b"POST /api/\xffjobs HTTP/1.1\r\n" + HOST + b"\r\n",
                b"\r\n\r\n\r\n" + canary("canary"),
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                b"{}\r\n\r\n"):
            with self.subTest(data[:120]):
                answers = self.send(data + canary("canary"))
                self.assertEqual(len(answers), 1, answers)
                self.assertIn(answers[0][0], (400, 411, 413, 501, 505))
                self.assertEqual(answers[0][1]["connection"], "close")
        self.assertEqual(self.canaries(), 0)

    def test_bad_targets(self):
        for target in (b"/%", b"/%zz", b"/%00", b"/a%ffb", b"/%c0%80",
                       b"/?q=%", b"/?q=%80", b"/?%00=1", b"/#x",
                       b"http://localhost/none", b"ftp://localhost/healthz",
                       b"localhost:80", b"http://@/healthz"):
            with self.subTest(target):
                [answer] = self.send(b"GET " + target + b" HTTP/1.1\r\n"
                                     + HOST + b"\r\n")
                self.assertIn(answer[0], (400, 404, 421))
        for target in (b"http://localhost/healthz", b"http://localhost"):
            self.assertEqual(self.statuses(
                b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"\r\n"),
                [200], target)


class Timeouts(Http):
    options = {"http.request-timeout": "400ms", "http.idle-timeout": "400ms"}

    def test_a_slow_request(self):
        for part in (b"G", GET[:-2], post(b"{}")[:-1],
                     b"POST /api/jobs HTTP/1.1\r\n" + HOST
                     + b"Transfer-Encoding: chunked\r\n\r\n5\r\n"):
            with self.node.connect() as client:
                began = time.monotonic()
                client.sendall(part)
                [(status, headers, body)] = read_answers(client)
                self.assertEqual((status, headers["connection"]),
                                 (408, "close"))
                self.assertEqual(json.loads(body)["status"], 408)
                self.assertTrue(0.35 < time.monotonic() - began < 3)

    def test_a_trickle_does_not_extend_it(self):
        with self.node.connect() as client:
            client.settimeout(0.05)
            client.sendall(b"GET /healthz HTTP/1.1\r\n")
            began = time.monotonic()
            answer = b""
            while not answer and time.monotonic() - began < 5:
                try:
                    client.sendall(b"X: y\r\n")
                    answer = client.recv(100)
                except TimeoutError:
                    continue
            self.assertEqual(answer[:12], b"HTTP/1.1 408")
            self.assertLess(time.monotonic() - began, 3)

    def test_idle_connections_are_closed_without_a_word(self):
        with self.node.connect() as fresh, self.node.connect() as used:
            began = time.monotonic()
            used.sendall(GET)
            self.assertEqual(len(read_answers(used, 1)), 1)
            self.assertEqual(fresh.recv(1), b"")
            self.assertEqual(used.recv(1), b"")
            self.assertTrue(0.35 < time.monotonic() - began < 3)

    def test_a_long_poll_is_not_idle(self):
        job = self.node.add_job(run_at=time_in(3600))
        answer = self.node.get(f"/api/jobs/{job['id']}?wait=1")
        self.assertEqual(answer.status, 200)


class Crowd(Http):
    options = {"http.max-connections": 3}

    def test_too_many_get_503(self):
        clients = [self.node.connect() for _ in range(3)]
        try:
            for client in clients:
                client.sendall(GET)
                self.assertEqual(read_answers(client, 1)[0][0], 200)
            with self.node.connect() as client:
                client.sendall(GET)
                [(status, headers, _)] = read_answers(client)
                self.assertEqual((status, headers["connection"],
                                  headers["retry-after"]),
                                 (503, "close", "1"))
            for client in clients:
                client.sendall(GET)
                self.assertEqual(read_answers(client, 1)[0][0], 200)
        finally:
            for client in clients:
                client.close()
        deadline = time.monotonic() + 5
        while (answers := self.statuses(GET)) != [200]:
            self.assertLess(time.monotonic(), deadline, answers)


@both_stores
class AfterAll(Http):
    def test_hostile_bytes_leave_the_node_well(self):
        for seed in range(200):
            noise = bytes((seed * 31 + i * i * 7) % 256 for i in range(seed))
            with self.node.connect() as client:
                client.sendall(noise)
        with self.node.connect() as client:
            client.sendall(GET)
            self.assertEqual(read_answers(client, 1)[0][0], 200)
        job = self.node.wait_for_job(self.node.add_job()["id"])
        self.assertEqual(job["status"], "FAILED")
        self.assertNotIn("error", self.node.log)


if __name__ == "__main__":
    unittest.main()
