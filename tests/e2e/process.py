# tests/e2e/process.py -- child processes that cannot outlive their test.
import atexit
import ctypes
import signal
import subprocess
import threading
import time

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None)


class Timeout(AssertionError):
    """Something did not happen in time."""


def remaining(deadline: float) -> float:
    """Seconds until `deadline` (monotonic); raises once it has passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise Timeout("the time is up")
    return left


class Process:
    """A child whose output is kept, and that dies when its parent does.

    Start it from the main thread: the kernel ties it to the thread that
    forked it.
    """

    def __init__(self, command, death_signal=signal.SIGKILL, **popen):
        self._lines: list[tuple[str, str]] = []
        self._changed = threading.Condition()
        self._popen = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            preexec_fn=lambda: _libc.prctl(PR_SET_PDEATHSIG, death_signal),
            **popen)
        self.pid = self._popen.pid
        self._readers = [
            threading.Thread(target=self._read, args=(name,), daemon=True)
            for name in ("stdout", "stderr")]
        for reader in self._readers:
            reader.start()
        atexit.register(self.kill)

    def _read(self, name: str):
        for line in getattr(self._popen, name):
            with self._changed:
                self._lines.append((name, line.decode(errors="replace")))
                self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()

    def output(self, name: str) -> str:
        """All of `stdout` or `stderr` so far."""
        with self._changed:
            return "".join(text for where, text in self._lines
                           if where == name)

    def wait_for_line(self, text: str, timeout: float = 30,
                      name: str | None = None) -> str:
        """The first line that holds `text`; fails when the child ends."""
        def find():
            return next((line for where, line in self._lines
                         if text in line and name in (None, where)), None)

        def ended():
            return not any(reader.is_alive() for reader in self._readers)

        deadline = time.monotonic() + timeout
        with self._changed:
            while (found := find()) is None:
                everything = "".join(line for _, line in self._lines)
                if ended():
                    raise AssertionError(
                        f"ended with {self._popen.poll()} before it printed "
                        f"'{text}':\n{everything}")
                if time.monotonic() > deadline:
                    raise Timeout(f"no '{text}' in:\n{everything}")
                # The last reader cannot announce its own end.
                self._changed.wait(0.2)
            return found

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    def signal(self, number: int):
        self._popen.send_signal(number)

    def wait(self, timeout: float = 60) -> int:
        """The exit code, negative for a signal; all output is read then."""
        try:
            code = self._popen.wait(timeout)
        except subprocess.TimeoutExpired as err:
            raise Timeout(f"process {self.pid} still runs") from err
        for reader in self._readers:
            reader.join(5)
        self._popen.stdout.close()
        self._popen.stderr.close()
        atexit.unregister(self.kill)
        return code

    def kill(self):
        self._popen.kill()
        self.wait()
