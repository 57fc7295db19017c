# tests/e2e/event_stream.py -- server-sent events as a client reads them.
import http.client
import json
import time
from collections import namedtuple

from process import Timeout, remaining

Event = namedtuple("Event", "event id data retry")


class EventStream:
    """Server-sent events, one at a time; comments are counted only."""

    def __init__(self, connection: http.client.HTTPConnection, path: str,
                 headers: dict, timeout: float):
        self.timeout = timeout
        self.comments = 0
        connection.connect()
        self._socket = connection.sock
        connection.request("GET", path, headers=headers)
        self._response = connection.getresponse()
        self.headers = self._response.headers
        if self._response.status != 200:
            raise AssertionError(f"{path} answers {self._response.status}: "
                                 f"{self._response.read()!r}")

    def next(self, timeout: float | None = None) -> Event | None:
        """The next event; None once the node has ended the stream."""
        deadline = time.monotonic() + (timeout or self.timeout)
        fields: dict[str, list[str]] = {}
        while True:
            self._socket.settimeout(remaining(deadline))
            try:
                raw = self._response.readline()
            except TimeoutError as err:
                raise Timeout("no event in time") from err
            if not raw:
                return None
            line = raw.decode("utf-8").rstrip("\r\n")
            if line.startswith(":"):
                self.comments += 1
            elif line:
                name, _, value = line.partition(":")
                fields.setdefault(name, []).append(value.removeprefix(" "))
            elif fields:
                return self._event(fields)

    @staticmethod
    def _event(fields: dict[str, list[str]]) -> Event:
        def last(name):
            return fields.get(name, [None])[-1]
        data = "\n".join(fields["data"]) if "data" in fields else None
        return Event(last("event"), last("id"),
                     None if data is None else json.loads(data),
                     last("retry"))

    def until(self, wanted, timeout: float | None = None) -> Event:
        """The next event that is `wanted`; others are passed over."""
        deadline = time.monotonic() + (timeout or self.timeout)
        while True:
            event = self.next(remaining(deadline))
            if event is None:
                raise AssertionError("the stream has ended")
            if wanted(event):
                return event

    def __iter__(self):
        while (event := self.next()) is not None:
            yield event

    def close(self):
        self._response.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
