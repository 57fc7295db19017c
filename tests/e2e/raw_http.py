# tests/e2e/raw_http.py -- HTTP as bytes on a socket, for tests of the framing.
import json
import re
import socket

from harness import Node, NodeTest, time_in

HOST = b"Host: localhost\r\n"
GET = b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n"


def read_answers(client: socket.socket, count: int | None = None,
                 methods: list[str] | None = None) -> list[tuple]:
    """(status, headers, body) of `count` answers, or all until the end."""
    data, answers = b"", []
    while count is None or len(answers) < count:
        head, mark, rest = data.partition(b"\r\n\r\n")
        if mark:
            lines = head.decode().split("\r\n")
            headers = {}
            for line in lines[1:]:
                name, _, value = line.partition(": ")
                headers[name.lower()] = value
            status = int(re.fullmatch(r"HTTP/1\.1 (\d{3}) .+",
                                      lines[0]).group(1))
            method = (methods or [])[len(answers):len(answers) + 1]
            bare = method == ["HEAD"] or status in (204, 304)
            length = 0 if bare else int(headers["content-length"])
            if len(rest) >= length:
                answers.append((status, headers, rest[:length]))
                data = rest[length:]
                continue
        try:
            chunk = client.recv(65536)
        except ConnectionResetError:
            chunk = b""
        if not chunk:
            break
        data += chunk
    if data:
        raise AssertionError(f"bytes that belong to no answer: {data[:200]}")
    return answers


def is_closed(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def post(body: bytes, path: bytes = b"/api/jobs",
         extra: bytes = b"") -> bytes:
    return (b"POST " + path + b" HTTP/1.1\r\n" + HOST
            + b"Content-Type: application/json\r\n" + extra
            + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def canary(target: str) -> bytes:
    return post(json.dumps({"type": "CARD_ANALYSIS", "target_id": target,
                            "run_at": time_in(3600)}).encode())


class Http(NodeTest):
    def send(self, data: bytes, node: Node | None = None,
             count: int | None = None, methods=None) -> list[tuple]:
        with (node or self.node).connect() as client:
            client.sendall(data)
            if count is None:
                client.shutdown(socket.SHUT_WR)
            return read_answers(client, count, methods)

    def statuses(self, data: bytes, **kwargs) -> list[int]:
        return [answer[0] for answer in self.send(data, **kwargs)]

    def canaries(self) -> int:
        return len(self.node.get("/api/jobs?target_id=canary").json["jobs"])
