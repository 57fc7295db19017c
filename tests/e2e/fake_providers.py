# tests/e2e/fake_providers.py -- tests/fakes/providers.py as a process.
import http.client
import json
import subprocess
import sys
from pathlib import Path

from process import Process

PROGRAM = Path(__file__).resolve().parents[1] / "fakes/providers.py"


class FakeProviders:
    """tests/fakes/providers.py; its faults are described there."""

    api_key = "fake-key"

    def __init__(self, delay: float = 0.0, pace: float = 0.0, port: int = 0):
        self._process = Process(
            [sys.executable, str(PROGRAM), "--delay", str(delay), "--pace",
             str(pace), "--port", str(port)], stdin=subprocess.DEVNULL)
        line = self._process.wait_for_line("listening on http://")
        self.url = line.split()[-1]

    def _ask(self, method: str, path: str, body=None):
        client = http.client.HTTPConnection(self.url.split("//")[1],
                                            timeout=30)
        try:
            client.request(method, path,
                           None if body is None else json.dumps(body))
            answer = client.getresponse()
            result = json.loads(answer.read())
            if answer.status != 200:
                raise AssertionError(f"{path}: {result}")
            return result
        finally:
            client.close()

    def add_faults(self, *faults: dict):
        self._ask("POST", "/_fake/faults", list(faults))

    def set_faults(self, *faults: dict):
        """Instead of those that are still due; none at all without faults."""
        self._ask("PUT", "/_fake/faults", list(faults))

    def calls(self, api: str | None = None) -> list[dict]:
        calls = self._ask("GET", "/_fake/calls")["calls"]
        return [x for x in calls if api in (None, x["api"])]

    def reset(self):
        self._ask("POST", "/_fake/reset")

    def close(self):
        if self._process.running:
            self._process.kill()
