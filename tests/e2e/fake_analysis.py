# tests/e2e/fake_analysis.py -- tests/fakes/analysis_server.py as a process.
import http.client
import json
import subprocess
import sys
from pathlib import Path

from process import Process

PROGRAM = Path(__file__).resolve().parents[1] / "fakes/analysis_server.py"


class FakeAnalysis:
    """tests/fakes/analysis_server.py; its modes are described there."""

    def __init__(self, delay: float = 0.0):
        self._process = Process([sys.executable, str(PROGRAM), "--delay",
                                 str(delay)], stdin=subprocess.DEVNULL)
        line = self._process.wait_for_line("listening on http://")
        self.url = line.split()[-1]

    @property
    def options(self) -> dict:
        """Settings of a node that uses it."""
        return {"analysis.provider": "analysis-server",
                "analysis.url": self.url}

    def _ask(self, method: str, path: str, body=None):
        client = http.client.HTTPConnection(self.url.split("//")[1],
                                            timeout=30)
        try:
            client.request(method, path, json.dumps(body))
            answer = client.getresponse()
            result = json.loads(answer.read())
            if answer.status != 200:
                raise AssertionError(f"{path}: {result}")
            return result
        finally:
            client.close()

    def mode(self, mode: str, times: int | None = None):
        self._ask("POST", "/_mode", {"mode": mode} if times is None else
                  {"mode": mode, "times": times})

    def calls(self) -> list[dict]:
        return self._ask("GET", "/_calls")["calls"]

    def reset(self):
        self._ask("POST", "/_reset")

    def close(self):
        if self._process.running:
            self._process.kill()
