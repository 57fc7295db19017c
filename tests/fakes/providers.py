#!/usr/bin/env python3
"""Fake AI providers with faults on command, for tests and the demo.

    python3 tests/fakes/providers.py [--port PORT] [--delay SECONDS]
        [--pace SECONDS] [--api-key KEY]

Prints `listening on http://127.0.0.1:PORT` (port 0, the default, takes a free
one) and serves until it is killed or, with --until-eof, until its standard
input ends. Standard library only; one thread a connection.

    POST /v1/messages                            Anthropic (messages_api.py)
    POST /v1/chat/completions                    OpenAI (completions_api.py)
    POST /v1beta/models/MODEL:generateContent    Gemini (gemini_api.py)
    POST /analyze, /embed                        as analysis_server.py, with
                                                 all that its modes can do

Each checks the shape of requests as the provider does. The key of the first
three is `fake-key` unless told otherwise; models that begin with `no-such-`
are unknown.

    POST   /_fake/faults   a list of faults, which are added to those due
    PUT    /_fake/faults   a list of faults instead of those due
    GET    /_fake/calls    {"calls": [...], "faults": [...]}; each call has
                             n            1, 2, ...
                             api          messages, chat, gemini, analyze, embed
                             model        as asked for
                             prompt       without the system prompt
                             digest       SHA-256 of the prompt in hex
                             time, ended  seconds since the epoch, or null
                             finished     the whole answer was sent, and it was
                                          no fault's
                             status       of the answer
                             fault        its kind, or null
                             image        SHA-256 of the picture sent, in hex
                             traceparent, tracestate  as sent, or null
    POST   /_fake/reset    forgets calls and faults
    GET    /healthz        200

A fault is an object with `kind`; which of those due is taken is decided by
`api` (any), `match` (a part of the prompt) and `skip` (so many calls are
spared first); it is due `count` times (1; null: always). `delay` waits that
many seconds first. Kinds, and what else they may have:

    status            status, headers, message, type, body; Gemini's also
                      retry_delay and details
    delay             nothing but the delay
    slow_bytes        a correct answer, byte by byte; interval (0.05 s)
    cut_stream        end of connection after so many bytes of the body; after
    hang              takes the request, never answers
    wrong_json        a body or an event that is no JSON
    wrong_text        a correct answer whose text is not what was asked for
    refusal           the model refuses; prompt: Gemini blocks the prompt
    max_tokens        the text is cut at its limit
    empty_text        nothing in the text; no picture
    empty_page        a book with an empty page; page (2); no picture
    wrong_image_type  bytes: svg, html, gif, jpeg or empty, declared as PNG
    error_event       an error within the stream; type, message, after (texts)
"""

import argparse
import json
import re
import select
import sys
import threading
import time

sys.dont_write_bytecode = True  # nothing beside the sources

import analysis_server
import completions_api
import gemini_api
import messages_api
from fake_state import FakeState

GEMINI_PATH = re.compile(r"/v1beta/models/([^/:]+):generateContent$")
# How a fault of the generic kinds is played by the analysis service.
ANALYSIS_MODES = {"slow_bytes": "slow", "cut_stream": "cut", "hang": "hang",
                  "wrong_json": "not_json", "empty_text": "empty_summary",
                  "wrong_text": "wrong_shape", "delay": "ok"}


class Cut(Exception):
    """The answer was spoilt on purpose."""


class Output:
    """Writes one answer, slowly or not to its end when a fault wants it."""

    def __init__(self, handler, fault, call, pace):
        self.handler = handler
        self.fault = fault
        self.call = call
        self.pace = pace
        self.sent = 0

    def head(self, status, headers):
        self.call["status"] = status
        self.handler.send_response(status)
        for name, value in headers:
            self.handler.send_header(name, value)
        self.handler.end_headers()

    def json(self, status, value, headers=()):
        self.bytes(status, json.dumps(value).encode(), "application/json",
                   headers)

    def bytes(self, status, body, kind, headers=()):
        self.head(status, [("Content-Type", kind),
                           ("Content-Length", str(len(body))), *headers])
        self.write(body, lambda x: x)

    def begin_stream(self, headers=()):
        self.head(200, [("Content-Type", "text/event-stream; charset=utf-8"),
                        ("Cache-Control", "no-cache"),
                        ("Transfer-Encoding", "chunked"), *headers])

    def stream(self, text):
        self.write(text.encode(), lambda x: b"%x\r\n%s\r\n" % (len(x), x))

    def end_stream(self):
        self.handler.wfile.write(b"0\r\n\r\n")

    def pause(self):
        if self.pace:
            time.sleep(self.pace)

    def write(self, data, framed):
        wfile = self.handler.wfile
        if self.fault["kind"] == "cut_stream":
            left = max(self.fault.get("after", 200) - self.sent, 0)
            if left < len(data):
                if left:
                    wfile.write(framed(data[:left]))
                self.handler.hang_up()
                raise Cut
        self.sent += len(data)
        if self.fault["kind"] == "slow_bytes":
            for i in range(len(data)):
                wfile.write(framed(data[i:i + 1]))
                time.sleep(self.fault.get("interval", 0.05))
        elif data:
            wfile.write(framed(data))


class Handler(analysis_server.Handler):

    # -- requests ---------------------------------------------------------

    def do_GET(self):
        if self.path == "/_fake/calls":
            self.reply(200, self.server.fake.snapshot())
        else:
            super().do_GET()

    def do_PUT(self):
        if self.path == "/_fake/faults":
            self.change_faults(self.read_body(), self.server.fake.set_faults)
        else:
            self.reply(404, {"detail": "Not Found"})

    def do_POST(self):
        gemini = GEMINI_PATH.match(self.path)
        if self.path == "/_fake/faults":
            self.change_faults(self.read_body(), self.server.fake.add_faults)
        elif self.path == "/_fake/reset":
            self.server.fake.reset()
            self.reply(200, {})
        elif self.path == "/v1/messages":
            self.serve("messages", self.messages)
        elif self.path == "/v1/chat/completions":
            self.serve("chat", self.completions)
        elif gemini:
            self.serve("gemini", lambda request: self.gemini(
                request, gemini.group(1)))
        else:
            super().do_POST()

    def read_body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def change_faults(self, body, change):
        try:
            faults = json.loads(body)
            change(faults if isinstance(faults, list) else [faults])
            self.reply(200, {})
        except (ValueError, AttributeError) as err:
            self.reply(400, {"detail": str(err)})

    def serve(self, api, how):
        try:
            request = json.loads(self.read_body())
            if not isinstance(request, dict):
                raise ValueError("no object")
        except ValueError:
            request = None
        if request is None:
            self.reply(400, self.error(api, 400, "the body is no JSON object"))
            return
        how(request)

    # -- the providers ----------------------------------------------------

    def messages(self, request):
        key = self.server.options.api_key
        wrong = messages_api.check(self.headers, request, key)
        if wrong:
            self.reply(wrong[0], self.error("messages", *wrong))
            return
        self.play("messages", request["model"],
                  messages_api.prompt_of(request),
                  lambda out, fault, _: messages_api.answer(out, request,
                                                            fault))

    def completions(self, request):
        key = self.server.options.api_key
        wrong = completions_api.check(self.headers, request, key)
        if wrong:
            self.reply(wrong[0], self.error("chat", *wrong))
            return
        self.play("chat", request["model"],
                  completions_api.prompt_of(request),
                  lambda out, fault, _: completions_api.answer(out, request,
                                                               fault))

    def gemini(self, request, model):
        key = self.headers.get("x-goog-api-key")
        if not key:
            self.reply(403, self.error(
                "gemini", 403, "Method doesn't allow unregistered callers"))
            return
        if key != self.server.options.api_key:
            self.reply(400, gemini_api.bad_key())
            return
        wrong = gemini_api.check(self.headers, request, model)
        if wrong:
            self.reply(wrong[0], self.error("gemini", *wrong))
            return
        self.play("gemini", model, gemini_api.prompt_of(request),
                  lambda out, fault, call: gemini_api.answer(
                      out, request, fault, model, call))

    def analyze(self, body, mode=None):
        try:
            text = json.loads(body)["text"]
        except (ValueError, KeyError, TypeError):
            text = None
        if not isinstance(text, str):
            return super().analyze(body)  # refuses it

        def answer(_, fault, call):
            call["status"] = 200
            name = super(Handler, self).analyze(
                body, ANALYSIS_MODES.get(fault["kind"]))
            if name not in ("ok", "slow"):
                raise Cut

        self.play(self.path[1:], "fake-1", text, answer)
        return None

    # -- playing one call -------------------------------------------------

    def play(self, api, model, prompt, answer):
        call, fault = self.server.fake.begin(api, model, prompt)
        for name in ("traceparent", "tracestate"):
            call[name] = self.headers.get(name)
        out = Output(self, fault, call, self.server.options.pace)
        finished = False
        try:
            time.sleep(fault.get("delay", self.server.options.delay))
            if fault["kind"] == "hang":
                # Readable means that the client has gone.
                select.select([self.connection], [], [])
                self.close_connection = True
            elif fault["kind"] == "status":
                self.fail(out, api, fault)
            else:
                answer(out, fault, call)
                self.wfile.flush()
                finished = fault["kind"] in (None, "delay", "slow_bytes")
        except Cut:
            pass
        finally:
            self.server.fake.end(call, finished)

    def fail(self, out, api, fault):
        body = fault.get("body")
        if body is None:
            details = list(fault.get("details", []))
            if "retry_delay" in fault:
                details.append(gemini_api.retry_info(fault["retry_delay"]))
            body = self.error(api, fault["status"],
                              fault.get("message", "on command"),
                              fault.get("type"), details)
        raw = body.encode() if isinstance(body, str) \
            else json.dumps(body).encode()
        out.bytes(fault["status"], raw, "application/json",
                  list(fault.get("headers", {}).items()))

    def error(self, api, status, message, kind=None, details=None):
        if api == "messages":
            return messages_api.error(status, message, kind)
        if api == "chat":
            return completions_api.error(status, message, kind)
        if api == "gemini":
            return gemini_api.error(status, message, kind, details)
        return {"detail": message}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--delay", type=float, default=0.0,
                        help="seconds before each answer")
    parser.add_argument("--pace", type=float, default=0.0,
                        help="seconds between the texts of a stream")
    parser.add_argument("--api-key", default="fake-key")
    parser.add_argument("--until-eof", action="store_true",
                        help="end when standard input does")
    options = parser.parse_args()
    server = analysis_server.Server(("127.0.0.1", options.port), Handler)
    server.state = analysis_server.State(0.0)
    server.fake = FakeState()
    server.options = options
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
