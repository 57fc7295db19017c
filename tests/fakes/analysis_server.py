#!/usr/bin/env python3
"""A fake analysis server with faults on command, for tests.

    python3 tests/fakes/analysis_server.py [--port PORT] [--delay SECONDS]

Prints `listening on http://127.0.0.1:PORT` (port 0, the default, takes a free
one) and serves until it is killed or, with --until-eof, until its standard
input ends. Standard library only; one thread a connection.

    POST /analyze   the answer of the mode that is in force
    POST /embed     the same, for an embedding alone
    POST /_mode     {"mode": MODE, "times": N}: the next N calls get MODE, then
                    "ok" is back; without "times" it stays in force
    GET  /_calls    {"calls": [...]}, oldest first, each with
                      n              1, 2, ...
                      path           /analyze or /embed
                      time, ended    seconds since the epoch; ended is null
                                     while the call is being answered
                      digest, bytes  SHA-256 (hex) and length of the body
                      title          as sent, or null
                      authorization  the header as sent, or null
                      mode           what it was answered with
    POST /_reset    forgets all calls and the mode
    GET  /healthz   200

A text whose first line is `!fault MODE` gets that MODE whatever is in force,
so that one job may fail among others that do not. With `!fault MODE xN` only
the first N calls with that very body get it. A MODE is a name, and options
after semicolons, e.g. `http:503;retry-after=2` or `ok;delay=0.5`:

    ok             summary, tags and embedding derived from the text
    http:STATUS    that status with a JSON `detail`; no body for 204 and 304
    http429        429 with `Retry-After: 1`
    redirect       302 to another path
    slow           a correct answer, a byte every 50 ms (interval=SECONDS)
    hang           takes the request, never answers
    cut            a correct head, half of the body, end of connection
    cut_head       end of connection in the middle of the head
    reset          a connection reset instead of an answer
    garbage        bytes that are no HTTP
    not_json       200 with HTML
    wrong_shape    200 with JSON that is no analysis
    empty_summary  200 with a summary of spaces
    huge           200 with a summary of 16 MiB (bytes=N)

    delay=SECONDS        waits before it answers (all modes)
    retry-after=VALUE    sends this Retry-After (http:STATUS and http429)
    detail=TEXT          the `detail` of http:STATUS, percent-encoded; `@text`
                         echoes the text
"""

import argparse
import hashlib
import json
import re
import select
import socket
import struct
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMENSION = 16


class State:
    """What all connections share."""

    def __init__(self, delay):
        self.lock = threading.Lock()
        self.delay = delay
        self.reset()

    def reset(self):
        with self.lock:
            self.mode = "ok"
            self.times = None
            self.calls = []
            self.seen = {}

    def set_mode(self, mode, times):
        with self.lock:
            self.mode = mode
            self.times = times

    def begin(self, path, body, text, title, authorization):
        """Records a call and returns it; decides on its mode."""
        digest = hashlib.sha256(body).hexdigest()
        with self.lock:
            self.seen[digest] = self.seen.get(digest, 0) + 1
            mode = self.mode_for(text, self.seen[digest])
            call = {
                "n": len(self.calls) + 1,
                "path": path,
                "time": time.time(),
                "ended": None,
                "digest": digest,
                "bytes": len(body),
                "title": title,
                "authorization": authorization,
                "mode": mode,
            }
            self.calls.append(call)
            return call

    def mode_for(self, text, nth):
        order = re.match(r"!fault (\S+)(?: x(\d+))?\s*(?:\n|$)", text)
        if order:
            limit = order.group(2)
            return order.group(1) if not limit or nth <= int(limit) else "ok"
        if self.mode == "ok" or self.times is None:
            return self.mode
        mode = self.mode
        self.times -= 1
        if self.times <= 0:
            self.mode, self.times = "ok", None
        return mode

    def end(self, call):
        with self.lock:
            call["ended"] = time.time()


def parse_mode(mode):
    """`name;key=value;...` as a name and a dict; ValueError if unusable."""
    name, *rest = mode.split(";")
    options = dict(part.split("=", 1) for part in rest)
    for key in ("delay", "interval"):
        if key in options:
            options[key] = float(options[key])
    known = name in Handler.ANSWERS or re.fullmatch(r"http:[1-9]\d\d", name)
    if not known or not options.keys() <= {
            "delay", "interval", "bytes", "retry-after", "detail"}:
        raise ValueError("unknown mode: " + mode)
    return name, options


def embedding_of(text):
    """Texts that share words are close, so that they can be recalled."""
    numbers = [0.0] * DIMENSION
    for word in re.findall(r"\w+", text.lower()) or [text]:
        digest = hashlib.sha256(word.encode("utf-8", "replace")).digest()
        numbers[digest[0] % DIMENSION] += 1 if digest[1] % 2 else -1
    if not any(numbers):
        numbers[0] = 1.0
    length = sum(x * x for x in numbers) ** 0.5
    return [x / length for x in numbers]


def usage_of(text):
    words = len(re.findall(r"\w+", text))
    return {"input_tokens": words, "output_tokens": words // 4 + 1}


def analysis_of(text):
    words = re.findall(r"\w+", text)
    return {
        "summary": re.split(r"(?<=[.!?])\s+", text.strip())[0][:300] or "-",
        "tags": sorted(set(words), key=words.index)[:3],
        "embedding": embedding_of(text),
        "model": "fake-1",
        "usage": usage_of(text),
    }


def embedded(text):
    return {"embedding": embedding_of(text), "model": "fake-1",
            "usage": usage_of(text)}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    # -- requests ---------------------------------------------------------

    def do_GET(self):
        if self.path == "/_calls":
            with self.server.state.lock:
                self.reply(200, {"calls": self.server.state.calls})
        elif self.path == "/healthz":
            self.reply(200, {"status": "ok"})
        else:
            self.reply(404, {"detail": "Not Found"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path in self.MAKERS:
            self.analyze(body)
        elif self.path == "/_mode":
            self.change_mode(body)
        elif self.path == "/_reset":
            self.server.state.reset()
            self.reply(200, {})
        else:
            self.reply(404, {"detail": "Not Found"})

    def change_mode(self, body):
        try:
            order = json.loads(body)
            parse_mode(order["mode"])
            times = order.get("times")
            self.server.state.set_mode(order["mode"],
                                       None if times is None else int(times))
            self.reply(200, order)
        except (ValueError, KeyError, TypeError) as err:
            self.reply(400, {"detail": str(err)})

    def analyze(self, body, mode=None):
        """Answers in the given mode, else in the one that is in force; gives
        the mode that it was."""
        try:
            request = json.loads(body)
            text = request["text"]
            if not isinstance(text, str):
                raise TypeError
        except (ValueError, KeyError, TypeError):
            self.reply(422, {"detail": "the body must be JSON with a `text`"})
            return None
        call = self.server.state.begin(self.path, body, text,
                                       request.get("title"),
                                       self.headers.get("Authorization"))
        call["mode"] = mode or call["mode"]
        self.made = self.MAKERS[self.path](text)
        try:
            name, options = parse_mode(call["mode"])
        except ValueError as err:
            self.server.state.end(call)
            self.reply(400, {"detail": str(err)})
            return None
        try:
            time.sleep(options.get("delay", self.server.state.delay))
            if name.startswith("http:"):
                self.status(int(name[5:]), text, options)
            else:
                self.ANSWERS[name](self, text, options)
        finally:
            self.server.state.end(call)
        return name

    # -- answers ----------------------------------------------------------

    def reply(self, status, value, headers=()):
        self.reply_bytes(status, json.dumps(value).encode(), headers)

    def reply_bytes(self, status, body, headers=(),
                    kind="application/json"):
        self.head(status, len(body), headers, kind)
        if status not in (204, 304):
            self.wfile.write(body)

    def head(self, status, length, headers=(), kind="application/json"):
        self.send_response(status)
        if status not in (204, 304):
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(length))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()

    def status(self, status, text, options):
        detail = options.get("detail", "status %d on command" % status)
        detail = urllib.parse.unquote(detail)
        if detail == "@text":
            detail = "cannot analyse '%s'" % text
        headers = []
        if "retry-after" in options:
            headers.append(("Retry-After", options["retry-after"]))
        self.reply(status, {"detail": detail}, headers)

    def ok(self, *_):
        self.reply(200, self.made)

    def http429(self, text, options):
        self.status(429, text, {"retry-after": "1", **options})

    def redirect(self, *_):
        self.reply(302, {}, [("Location", "/elsewhere")])

    def slow(self, _, options):
        body = json.dumps(self.made).encode()
        self.head(200, len(body))
        for i in range(len(body)):
            self.wfile.write(body[i:i + 1])
            self.wfile.flush()
            time.sleep(options.get("interval", 0.05))

    def hang(self, *_):
        # Readable means that the client has gone.
        select.select([self.connection], [], [])
        self.close_connection = True

    def cut(self, *_):
        body = json.dumps(self.made).encode()
        self.head(200, len(body))
        self.wfile.write(body[:len(body) // 2])
        self.hang_up()

    def cut_head(self, *_):
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Ty")
        self.hang_up()

    def reset(self, *_):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def garbage(self, *_):
        self.wfile.write(b"\x00\xffthis is no HTTP\r\n\r\n")
        self.hang_up()

    def not_json(self, *_):
        self.reply_bytes(200, b"<html><body>It works!</body></html>",
                         kind="text/html")

    def wrong_shape(self, *_):
        self.reply(200, {"summary": ["no", "string"], "tags": "none"})

    def empty_summary(self, *_):
        self.reply(200, {**self.made, "summary": "  \n"})

    def huge(self, _, options):
        size = int(options.get("bytes", 16 * 1024 * 1024))
        rest = json.dumps({**self.made, "summary": ""}).encode()
        start, end = rest.split(b'"summary": "', 1)
        start += b'"summary": "'
        self.head(200, len(start) + size + len(end))
        self.wfile.write(start)
        while size > 0:
            self.wfile.write(b"x" * min(size, 65536))
            size -= 65536
        self.wfile.write(end)

    def hang_up(self):
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    MAKERS = {"/analyze": analysis_of, "/embed": embedded}

    ANSWERS = {
        "ok": ok, "http429": http429, "redirect": redirect, "slow": slow,
        "hang": hang, "cut": cut, "cut_head": cut_head, "reset": reset,
        "garbage": garbage, "not_json": not_json, "wrong_shape": wrong_shape,
        "empty_summary": empty_summary, "huge": huge,
    }


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        # Clients that go away are what this server is for.
        if not isinstance(sys.exc_info()[1], (OSError, ValueError)):
            super().handle_error(request, client_address)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0,
                        help="seconds each answer takes unless told otherwise")
    parser.add_argument("--until-eof", action="store_true",
                        help="end when standard input does")
    options = parser.parse_args()
    server = Server(("127.0.0.1", options.port), Handler)
    server.state = State(options.delay)
    print("listening on http://127.0.0.1:%d" % server.server_address[1],
          flush=True)
    if options.until_eof:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        sys.stdin.buffer.read()
    else:
        server.serve_forever()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        pass
