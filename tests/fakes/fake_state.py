"""What the fake providers remember: calls, and faults that are still due."""

import hashlib
import threading
import time

# What a fault may have, by kind; all may have api, kind, count, skip, match
# and delay.
KINDS = {
    "delay": set(),
    "status": {"status", "headers", "type", "message", "body", "retry_delay",
               "details"},
    "slow_bytes": {"interval"},
    "cut_stream": {"after"},
    "hang": set(),
    "wrong_json": set(),
    "wrong_text": set(),
    "refusal": {"prompt"},
    "max_tokens": set(),
    "empty_text": set(),
    "empty_page": {"page"},
    "wrong_image_type": {"bytes"},
    "error_event": {"type", "message", "after"},
}
COMMON = {"api", "kind", "count", "skip", "match", "delay"}
APIS = {"messages", "chat", "gemini", "analyze", "embed"}


def checked(fault):
    """The fault with its defaults; ValueError names what is wrong with it."""
    kind = fault.get("kind", "status" if "status" in fault else None)
    if kind not in KINDS:
        raise ValueError("no such kind of fault: %r" % kind)
    unknown = set(fault) - COMMON - KINDS[kind]
    if unknown:
        raise ValueError("a fault of kind %s has no %s"
                         % (kind, ", ".join(sorted(unknown))))
    if fault.get("api") not in APIS | {None}:
        raise ValueError("no such API: %r" % fault["api"])
    return {"count": 1, "skip": 0, **fault, "kind": kind}


class FakeState:
    """Shared by all connections."""

    def __init__(self):
        self.lock = threading.Lock()
        self.reset()

    def reset(self):
        with self.lock:
            self.calls = []
            self.faults = []

    def add_faults(self, faults):
        faults = [checked(fault) for fault in faults]
        with self.lock:
            self.faults += faults

    def set_faults(self, faults):
        faults = [checked(fault) for fault in faults]
        with self.lock:
            self.faults = faults

    def snapshot(self):
        with self.lock:
            return {"calls": [dict(x) for x in self.calls],
                    "faults": [dict(x) for x in self.faults]}

    def begin(self, api, model, prompt):
        """Records a call and takes the fault that is due for it, if any."""
        with self.lock:
            fault = self.take_fault(api, prompt)
            call = {
                "n": len(self.calls) + 1,
                "api": api,
                "model": model,
                "prompt": prompt,
                "digest": hashlib.sha256(
                    prompt.encode("utf-8", "replace")).hexdigest(),
                "time": time.time(),
                "ended": None,
                "finished": False,
                "status": None,
                "fault": fault["kind"] if fault else None,
                "image": None,
            }
            self.calls.append(call)
            return call, fault or {"kind": None}

    def take_fault(self, api, prompt):
        for fault in self.faults:
            if fault.get("api") not in (None, api):
                continue
            if fault.get("match", "") not in prompt:
                continue
            if fault["skip"] > 0:
                fault["skip"] -= 1
                continue
            if fault["count"] is None:
                return fault
            if fault["count"] > 0:
                fault["count"] -= 1
                return fault
        return None

    def end(self, call, finished):
        with self.lock:
            call["ended"] = time.time()
            call["finished"] = finished
