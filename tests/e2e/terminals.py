# tests/e2e/terminals.py -- what people see: colours, widths, a progress bar and
# `top`, on a pseudo-terminal.
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
import unicodedata
import unittest

from commands import HOSTILE, JOB_FAILED, OK, CommandTest
from harness import BIN, Timeout, clean_environment, remaining, time_in

SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


def width_of(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else
               2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in text)


class Terminal:
    """A program on a terminal of its own."""

    def __init__(self, *args, environment: dict, columns: int = 80,
                 lines: int = 24):
        self._mine, theirs = pty.openpty()
        self.resize(columns, lines)
        self.settings = termios.tcgetattr(theirs)
        self._theirs = theirs
        self.text = ""
        self._process = subprocess.Popen(
            [BIN, *args], stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, env=clean_environment(
                {"TERM": "xterm", "LANG": "C.UTF-8", "NO_COLOR": "",
                 **environment}),
            # Ctrl-C reaches those whose terminal it is.
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, columns: int, lines: int):
        fcntl.ioctl(self._mine, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))

    def send(self, text: str):
        os.write(self._mine, text.encode())

    def signal(self, number: int):
        self._process.send_signal(number)

    def _read(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._mine], [], [],
                                    min(0.1, remaining(deadline)))
        if ready:
            self.text += os.read(self._mine, 65536).decode("utf-8", "replace")
        return bool(ready)

    def wait_for(self, text: str, timeout: float = 30):
        deadline = time.monotonic() + timeout
        while text not in self.text:
            ended = self._process.poll() is not None
            if not self._read(deadline) and (
                    ended or time.monotonic() > deadline - 0.2):
                raise Timeout(f"no {text!r} in {self.text[-2000:]!r}")

    def wait(self, timeout: float = 30) -> int:
        deadline = time.monotonic() + timeout
        while self._process.poll() is None:
            self._read(deadline)
        while self._read(deadline):
            pass
        return self._process.returncode

    def settings_now(self) -> list:
        return termios.tcgetattr(self._theirs)

    def close(self):
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._mine)
        os.close(self._theirs)


class TerminalTest(CommandTest):
    def start(self, *args, environment=None, **kwargs) -> Terminal:
        result = Terminal(*args, **kwargs, environment={
            "REEVE_URL": self.node.url, **(environment or {})})
        self.addCleanup(result.close)
        return result

    def shown(self, *args, code=OK, **kwargs) -> str:
        terminal = self.start(*args, **kwargs)
        self.assertEqual(terminal.wait(), code, terminal.text)
        return terminal.text.replace("\r\n", "\n")


class Tables(TerminalTest):
    def test_colours(self):
        self.enqueue_failing("to have one in red")
        self.assertIn("\x1b[31mFAILED", self.shown("jobs", "list"))
        for environment in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
            text = self.shown("jobs", "list", environment=environment)
            self.assertIn("FAILED", text)
            self.assertNotIn("\x1b", text)
        # `read` fails on any escape sequence.
        self.assertIn("FAILED", self.read("jobs", "list"))
        self.assertNotIn("\x1b", self.shown("jobs", "list", "--json"))

    def test_lines_fit(self):
        self.enqueue_failing("한국어 오류 메시지 " * 9 + HOSTILE)
        for columns in (200, 100, 80, 61, 20):
            text = self.shown("jobs", "list", columns=columns)
            for line in SEQUENCE.sub("", text).splitlines():
                self.assertLessEqual(width_of(line), columns, line)
        for args in (["stats"], ["actors"], ["types", "list"], ["errors"]):
            text = self.shown(*args, columns=50)
            for line in SEQUENCE.sub("", text).splitlines():
                self.assertLessEqual(width_of(line), 50, line)

    def test_hostile_texts(self):
        job = self.enqueue_failing(HOSTILE)
        for args in (["jobs", "list"], ["jobs", "show", job], ["errors"]):
            text = self.shown(*args, environment={"NO_COLOR": "1"})
            self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")


class Bar(TerminalTest):
    def test_it_moves(self):
        gate = self.gate()
        job = self.enqueue({"say": [[50, "half of it"]], "gate": gate})
        terminal = self.start("jobs", "watch", job, columns=60)
        terminal.wait_for("half of it")
        self.open_gate(gate)
        self.assertEqual(terminal.wait(), OK)
        self.assertIn("█" * 10 + "░" * 10 + "  50 %", terminal.text)
        self.assertIn("█" * 20 + " 100 %", terminal.text)
        self.assertIn("\r\x1b[K", terminal.text)
        # One line, written over, and its end.
        self.assertEqual(terminal.text.count("\n"), 1)
        self.assertTrue(terminal.text.endswith("\n"))

    def test_plain_terminals(self):
        job = self.enqueue()
        text = self.shown("jobs", "watch", job, environment={
            "LANG": "C", "NO_COLOR": "1"})
        self.assertIn("#" * 20 + " 100 %", text)

    def test_a_long_message_stays_on_its_line(self):
        job = self.enqueue_failing("무엇인가 " * 40 + HOSTILE)
        text = self.shown("jobs", "watch", job, code=JOB_FAILED, columns=50,
                          environment={"NO_COLOR": "1"})
        for line in SEQUENCE.sub("", text).replace("\r", "\n").splitlines():
            self.assertLess(width_of(line), 50)


class Top(TerminalTest):
    def assert_restored(self, terminal: Terminal):
        self.assertTrue(terminal.text.rstrip().endswith(LEAVE),
                        terminal.text[-100:])
        self.assertIn("\x1b[?25h", terminal.text)
        self.assertEqual(terminal.settings_now(), terminal.settings)

    def test_it_is_live(self):
        terminal = self.start("top", "--interval=0.1")
        terminal.wait_for("q quits")
        self.assertNotEqual(terminal.settings_now(), terminal.settings)
        gate = self.gate()
        job = self.enqueue({"say": [[40, "being done"]], "gate": gate})
        terminal.wait_for("being done")
        self.assertIn(job, terminal.text)
        terminal.text = ""
        terminal.send("x")  # not a command
        terminal.resize(50, 10)
        terminal.signal(signal.SIGWINCH)
        terminal.wait_for("q quits")
        self.open_gate(gate)
        self.node.wait_for_job(job, "COMPLETED")
        terminal.send("q")
        self.assertEqual(terminal.wait(), OK)
        self.assertIn("COMPLETED", terminal.text)
        self.assert_restored(terminal)

    def test_every_end_gives_the_terminal_back(self):
        for end in ("\x03", signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            with self.subTest(end):
                terminal = self.start("top")
                terminal.wait_for("q quits")
                if isinstance(end, str):
                    terminal.send(end)
                else:
                    terminal.signal(end)
                self.assertEqual(terminal.wait(), OK)
                self.assertIn(ENTER, terminal.text)
                self.assert_restored(terminal)

    def test_frames_fit(self):
        for i in range(20):
            self.enqueue({}, "--run-at=" + time_in(3600))
        terminal = self.start("top", columns=40, lines=8,
                              environment={"NO_COLOR": "1"})
        terminal.wait_for("\x1b[J")
        terminal.send("q")
        self.assertEqual(terminal.wait(), OK)
        frame = terminal.text.split("\x1b[H")[1].split("\x1b[J")[0]
        lines = SEQUENCE.sub("", frame).replace("\r", "").split("\n")
        self.assertLessEqual(len(lines), 8)
        for line in lines:
            self.assertLessEqual(width_of(line), 40, line)

    def test_a_node_that_goes_away(self):
        node = self.start_node()
        terminal = self.start("top", "--interval=0.1",
                              environment={"REEVE_URL": node.url})
        terminal.wait_for("q quits")
        node.kill9()
        terminal.wait_for("cannot reach")
        terminal.send("q")
        self.assertEqual(terminal.wait(), OK)
        self.assert_restored(terminal)

    def test_without_a_node_there_is_no_screen(self):
        terminal = self.start("top", "--url=http://127.0.0.1:1")
        self.assertEqual(terminal.wait(), 4)
        self.assertNotIn("\x1b", terminal.text)


if __name__ == "__main__":
    unittest.main()
