# tests/e2e/commands.py -- the client commands of `reeve`, as a program or a
# pipe sees them.
import http.server
import json
import os
import subprocess
import threading
import unittest

from harness import (BIN, Node, NodeTest, Process, clean_environment,
                     free_port, run_reeve, time_in)

# Does what its payload says. A gate is a FIFO that somebody opens.
WORKER = """
import json, sys
what = json.load(sys.stdin)["payload"] or {}
for percent, text in what.get("say", []):
    print("progress", percent, text, file=sys.stderr, flush=True)
if "gate" in what:
    open(what["gate"]).read()
if "fail" in what:
    print(what["fail"], file=sys.stderr)
    sys.exit(64)
json.dump({"done": True}, sys.stdout)
"""

# Escape sequences in 7 and 8 bits, a bell, a change of direction, a line break.
HOSTILE = "a\x1b[31mred\x1b]0;title\x07 \x9b2J \u202egnp.exe\nnext\u0300"

NO_ID = "00000000-0000-7000-8000-000000000000"

OK, FAILED, USAGE, NOT_FOUND, UNREACHABLE, JOB_FAILED, NOT_ALLOWED, \
    OUTSTANDING = range(8)


def is_harmless(text: str) -> bool:
    return not any(ord(c) < 32 and c != "\n" or 0x7f <= ord(c) < 0xa0
                   or c in "\u202e\u2028" for c in text)


class CommandTest(NodeTest):
    options = {"types.WORK.processor": "command",
               "types.WORK.command":
                   json.dumps(["/usr/bin/python3", "-c", WORKER]),
               "http.max-page-size": 20}

    def run_command(self, *args, code=OK, input=None, environment=None):
        done = subprocess.run(
            [BIN, *args], capture_output=True, text=True, timeout=60,
            input=input, cwd=self.node.folder, env=clean_environment(
                {"REEVE_URL": self.node.url, **(environment or {})}))
        self.assertEqual(done.returncode, code, done)
        self.assertTrue(is_harmless(done.stdout + done.stderr), done)
        if code not in (OK, JOB_FAILED):
            self.assertEqual(done.stdout, "")
            self.assertTrue(done.stderr)
        return done

    def read(self, *args, **kwargs) -> str:
        return self.run_command(*args, **kwargs).stdout

    def json(self, *args, **kwargs):
        return json.loads(self.read(*args, "--json", **kwargs))

    def refused(self, code, *args, text="", **kwargs):
        done = self.run_command(*args, code=code, **kwargs)
        self.assertIn(text, done.stderr)

    def enqueue(self, payload=None, *args, **kwargs) -> str:
        return self.read("enqueue", "WORK", "--target=t",
                         "--payload=" + json.dumps(payload or {}), *args,
                         **kwargs).split()[0]

    def enqueue_failing(self, message: str) -> str:
        job = self.enqueue({"fail": message})
        self.node.wait_for_job(job, "FAILED")
        return job

    def gate(self) -> str:
        path = os.path.join(self.node.folder, f"gate-{os.urandom(4).hex()}")
        os.mkfifo(path)
        return path

    @staticmethod
    def open_gate(path: str):
        with open(path, "w", encoding="ascii"):
            pass


class Enqueue(CommandTest):
    def test_it_prints_the_id(self):
        job = self.enqueue({"a": [1.5, "ä"]}, "--priority=-3",
                           "--max-attempts=2", "--user=kim",
                           "--run-at=" + time_in(3600))
        shown = self.node.job(job)
        self.assertEqual(
            [shown[x] for x in ("type", "target_id", "payload", "priority",
                                "max_attempts", "user_id", "status")],
            ["WORK", "t", {"a": [1.5, "ä"]}, -3, 2, "kim", "PENDING"])
        made = self.json("enqueue", "WORK", "--target=t")
        self.assertEqual(made["deduplicated"], False)
        self.assertEqual(self.node.job(made["id"])["payload"], {})

    def test_payloads_of_files_and_pipes(self):
        path = os.path.join(self.node.folder, "payload.json")
        with open(path, "w", encoding="utf-8") as out:
            out.write('{"from": "a file"}\n')
        for argument, input in (("@" + path, None), ("-", '{"from": "a pipe"}')):
            job = self.json("enqueue", "WORK", "--target=t", "--payload",
                            argument, input=input)
            self.assertTrue(job["payload"]["from"])

    def test_what_cannot_be_sent(self):
        def refused(*args, text, **kwargs):
            self.refused(USAGE, "enqueue", *args, text=text, **kwargs)

        refused("WORK", text="--target")
        refused("--target=t", text="TYPE")
        refused("WORK", "--target=t", "--payload={", text="--payload")
        refused("WORK", "--target=t", "--payload=[1]", text="object")
        refused("WORK", "--target=t", '--payload={"a":1,"a":2}', text="a")
        refused("WORK", "--target=t", "--payload=@/no/file", text="/no/file")
        refused("WORK", "--target=t", "--payload=@/tmp", text="/tmp")
        refused("WORK", "--target=t", "--payload=-", input="", text="--payload")
        refused("NOTHING", "--target=t", text="NOTHING")
        refused("WORK", "--target=t", "--run-at=tomorrow", text="run_at")
        refused("WORK", "--target=t", "--priority=x", text="priority")
        refused("WORK", "--target=t", "--colour=red", text="--colour")

    def test_a_unique_key(self):
        args = ({}, "--unique-key=k", "--run-at=" + time_in(3600))
        first = self.enqueue(*args)
        done = self.run_command("enqueue", "WORK", "--target=t",
                                "--unique-key=k")
        self.assertEqual(done.stdout.strip(), first)
        self.assertIn("unique-key", done.stderr)

    def test_waiting(self):
        job = self.json("enqueue", "WORK", "--target=t", "--wait")
        self.assertEqual((job["status"], job["result"]),
                         ("COMPLETED", {"done": True}))
        lines = self.read("enqueue", "WORK", "--target=t", "--wait",
                          '--payload={"fail": "no luck"}',
                          code=JOB_FAILED).splitlines()
        self.assertIn("FAILED", lines[-1])
        self.assertIn("no luck", lines[-1])
        self.assertEqual(self.node.job(lines[0])["status"], "FAILED")


class Jobs(CommandTest):
    def test_lists(self):
        user = "--user=lister"
        jobs = [self.enqueue({}, user, "--run-at=" + time_in(3600))
                for _ in range(45)]
        jobs.reverse()
        table = self.read("jobs", "list", user).splitlines()
        self.assertTrue(table[0].startswith("ID "), table[0])
        self.assertEqual([line.split()[0] for line in table[1:]], jobs)
        # The node's pages are smaller than that.
        for args in (("--all",), ("--limit=45",), ("--limit=1000",)):
            listed = self.json("jobs", "list", user, *args)
            self.assertEqual([x["id"] for x in listed["jobs"]], jobs)
            self.assertIsNone(listed["next_cursor"])
        some = self.json("jobs", "list", user, "--limit=30")
        self.assertEqual(len(some["jobs"]), 30)
        rest = self.json("jobs", "list", user,
                         "--cursor=" + some["next_cursor"])
        self.assertEqual([x["id"] for x in some["jobs"] + rest["jobs"]], jobs)
        more = self.run_command("jobs", "list", user, "--limit=3").stderr
        self.assertIn("--cursor=", more)
        for args in (["--status=COMPLETED"], ["--type=OTHER"],
                     ["--target=elsewhere"], ["--error=%never%"]):
            self.assertEqual(self.json("jobs", "list", user, *args)["jobs"],
                             [], args)
        self.assertEqual(len(self.json("jobs", "list", user, "--all",
                                       "--status=PENDING", "--type=WORK",
                                       "--target=t")["jobs"]), 45)
        self.refused(USAGE, "jobs", "list", "--status=LOST", text="LOST")
        self.refused(USAGE, "jobs", "list", "--limit=0", text="limit")
        self.refused(USAGE, "jobs", "list", "--all", "--limit=3", text="limit")
        self.refused(USAGE, "jobs", "list", "--cursor=x", text="cursor")

    def test_one(self):
        job = self.enqueue_failing("first line\nsecond")
        shown = self.json("jobs", "show", job)
        self.assertEqual(shown["id"], job)
        self.assertEqual(len(shown["runs"]), 1)
        self.assertEqual(shown["steps"], [])
        text = self.read("jobs", "show", job)
        for word in (job, "FAILED", "first line", "OUTCOME", "failed"):
            self.assertIn(word, text)
        self.refused(NOT_FOUND, "jobs", "show", NO_ID)
        self.refused(NOT_FOUND, "jobs", "show", "../stats")
        self.refused(USAGE, "jobs", "show", text="ID")

    def test_explain(self):
        job = self.enqueue({}, "--run-at=" + time_in(3600))
        why = self.json("jobs", "explain", job)
        self.assertEqual((why["job_id"], why["status"]), (job, "PENDING"))
        self.assertIn(why["text"], self.read("jobs", "explain", job))
        self.refused(NOT_FOUND, "jobs", "explain", NO_ID)

    def test_cancel(self):
        jobs = [self.enqueue({}, "--run-at=" + time_in(3600))
                for _ in range(2)]
        text = self.read("jobs", "cancel", *jobs)
        self.assertEqual(text.count("CANCELLED"), 2, text)
        self.refused(FAILED, "jobs", "cancel", jobs[0], text="CANCELLED")
        self.refused(NOT_FOUND, "jobs", "cancel", NO_ID)
        again = self.json("jobs", "retry", jobs[0])
        self.assertEqual(again["id"], jobs[0])

    def test_retry(self):
        job = self.enqueue_failing("once")
        self.assertIn(job, self.read("jobs", "retry", job))
        self.node.wait_for_job(job, "FAILED")
        done = self.enqueue()
        self.node.wait_for_job(done, "COMPLETED")
        self.refused(FAILED, "jobs", "retry", done, text="COMPLETED")
        self.refused(NOT_FOUND, "jobs", "retry", NO_ID)
        self.refused(USAGE, "jobs", "retry", text="--error")
        self.refused(USAGE, "jobs", "retry", job, "--dry-run", text="both")
        self.refused(USAGE, "jobs", "retry", "--error=x", "--fingerprint=y",
                     text="fingerprint")

    def test_bulk_retry(self):
        jobs = {self.enqueue_failing(f"bulk failure {i}") for i in range(3)}
        pattern = "--error=%bulk failure%"
        dry = self.json("jobs", "retry", pattern, "--dry-run")
        self.assertEqual((dry["matched"], dry["retried"]), (3, 0))
        self.assertEqual({x["id"] for x in dry["sample"]}, jobs)
        text = self.read("jobs", "retry", pattern, "--dry-run", "--type=WORK")
        self.assertIn("dry run", text)
        for job in jobs:
            self.assertIn(job, text)
            self.assertEqual(self.node.job(job)["status"], "FAILED")
        self.assertEqual(
            self.json("jobs", "retry", pattern, "--limit=1")["retried"], 1)
        for job in jobs:
            self.node.wait_for_job(job, "FAILED")
        groups = self.json("errors", "--type=WORK")["errors"]
        ours = next(x for x in groups if "bulk" in x["pattern"])
        table = self.read("errors", "--type=WORK")
        self.assertIn(ours["fingerprint"], table)
        done = self.json("jobs", "retry",
                         "--fingerprint=" + ours["fingerprint"])
        self.assertEqual(done["retried"], 3)
        self.refused(USAGE, "errors", "--from=yesterday", text="from")

    def test_hostile_texts(self):
        job = self.enqueue({"say": [[10, HOSTILE.replace("\n", " ")]],
                            "fail": HOSTILE}, "--user=mallory")
        self.node.wait_for_job(job, "FAILED")
        self.assertIn("\x1b", self.node.job(job)["error_message"])
        for args in (("list", "--user=mallory"), ("show", job),
                     ("list", "--user=mallory", "--json"),
                     ("show", job, "--json"), ("explain", job)):
            # `read` looks for what a terminal would obey.
            self.assertIn(job if "explain" not in args else "FAILED",
                          self.read("jobs", *args))
        self.assertIn("red", self.read("jobs", "watch", job, code=JOB_FAILED))
        self.assertEqual(
            json.loads(self.read("jobs", "watch", job, "--json",
                                 code=JOB_FAILED))["error_message"],
            self.node.job(job)["error_message"])
        self.read("errors")
        self.read("errors", "--json")
        lines = self.read("jobs", "list", "--user=mallory").splitlines()
        self.assertEqual(len(lines), 2, lines)


class Watch(CommandTest):
    def test_each_change_is_a_line(self):
        gate = self.gate()
        job = self.enqueue({"say": [[25, "a quarter"], [50, "half"]],
                            "gate": gate})
        watcher = Process([BIN, "jobs", "watch", job], env=clean_environment(
            {"REEVE_URL": self.node.url}))
        watcher.wait_for_line("half")
        self.open_gate(gate)
        self.assertEqual(watcher.wait(30), OK)
        lines = watcher.output("stdout").splitlines()
        self.assertIn("COMPLETED", lines[-1])
        self.assertIn("100 %", lines[-1])
        self.assertNotIn("\r", watcher.output("stdout"))

    def test_json_lines(self):
        job = self.enqueue()
        lines = self.read("jobs", "watch", job, "--json").splitlines()
        self.assertEqual(json.loads(lines[-1])["status"], "COMPLETED")
        self.assertEqual({json.loads(x)["id"] for x in lines}, {job})

    def test_no_such_job(self):
        self.refused(NOT_FOUND, "jobs", "watch", NO_ID)

    def test_a_reader_that_leaves_ends_it(self):
        gate = self.gate()
        job = self.enqueue({"gate": gate})
        for args in ([], ["--json"]):
            with open("/dev/full", "w", encoding="ascii") as full:
                done = subprocess.run(
                    [BIN, "jobs", "watch", job, *args], stdout=full,
                    stderr=subprocess.PIPE, timeout=60,
                    env=clean_environment({"REEVE_URL": self.node.url}))
            self.assertEqual(done.returncode, FAILED, done)
        self.open_gate(gate)

    def test_a_node_that_comes_back(self):
        # Only what is running is followed, and a drain would wait for it.
        port = free_port()
        node = self.start_node({"http.port": port, "retry.backoff": "10ms"})
        gate = self.gate()
        job = node.post("/api/jobs", {
            "type": "WORK", "target_id": "t",
            "payload": {"say": [[30, "before"]], "gate": gate}}).json["id"]
        watcher = Process([BIN, "jobs", "watch", job],
                          env=clean_environment({"REEVE_URL": node.url}))
        watcher.wait_for_line("before")
        node.kill9()
        watcher.wait_for_line("went away", name="stderr")
        node.start()
        self.open_gate(gate)
        self.assertEqual(watcher.wait(60), OK)
        self.assertIn("COMPLETED", watcher.output("stdout").splitlines()[-1])


class Reports(CommandTest):
    def test_stats(self):
        self.node.wait_for_job(self.enqueue(), "COMPLETED")
        stats = self.json("stats")
        self.assertGreaterEqual(stats["by_type"]["WORK"]["COMPLETED"], 1)
        table = self.read("stats").splitlines()
        self.assertEqual(table[0].split()[:2], ["TYPE", "PENDING"])
        self.assertTrue(any(x.startswith("WORK ") for x in table))

    def test_actors(self):
        tree = self.json("actors")
        names = [x["name"] for x in tree["actors"]]
        text = self.read("actors")
        for name in names:
            self.assertIn(name, text)
        lines = text.splitlines()
        top = next(x for x in lines[1:] if not x.startswith(" "))
        below = next(x for x in lines[1:] if x.startswith("  "))
        self.assertTrue(top.startswith("supervisor"), text)
        self.assertTrue(below)

    def test_types(self):
        self.assertIn("paused", self.read("types", "pause", "WORK",
                                          "--reason=to rest"))
        job = self.enqueue()
        try:
            self.assertIn("to rest", self.read("types", "list"))
            self.assertIn("paused", self.read("jobs", "explain", job))
            found = self.json("types", "list")["types"]
            self.assertIn(("WORK", True),
                          [(x["type"], x["paused"]) for x in found])
        finally:
            self.assertEqual(self.json("types", "resume", "WORK")["paused"],
                             False)
        self.node.wait_for_job(job, "COMPLETED")
        self.refused(NOT_FOUND, "types", "pause", "NOTHING", text="NOTHING")
        self.refused(NOT_FOUND, "types", "resume", "../..", text="..")
        self.refused(USAGE, "types", text="subcommand")

    def test_top_without_a_terminal(self):
        text = self.read("top")
        self.assertIn("completed", text)
        self.assertIn("TYPE", text)
        self.assertEqual(set(self.json("top")),
                         {"stats", "running", "providers"})


class Keys(CommandTest):
    options = {**CommandTest.options, "auth.mode": "api-key"}

    def make_key(self, *args: str) -> str:
        done = run_reeve("keys", "create", *args,
                         f"--database.url={self.node.database.url}")
        self.assertEqual(done.returncode, OK, done)
        return done.stdout.strip()

    def test_keys(self):
        operator = self.make_key("--role=operator", "--name=ops")
        client = self.make_key("--role=client", "--name=app", "--user=kim")
        self.refused(NOT_ALLOWED, "jobs", "list", text="REEVE_API_KEY")
        self.refused(NOT_ALLOWED, "jobs", "list",
                     environment={"REEVE_API_KEY": "reeve_wrong"})
        self.refused(USAGE, "jobs", "list", text="REEVE_API_KEY",
                     environment={"REEVE_API_KEY": "two\nlines"})
        mine = {"REEVE_API_KEY": client}
        self.refused(NOT_ALLOWED, "stats", environment=mine, text="operator")
        job = self.enqueue({}, environment=mine)
        self.read("jobs", "watch", job, environment=mine)
        self.assertEqual(self.json("stats", environment={
            "REEVE_API_KEY": operator})["jobs"]["COMPLETED"], 1)
        url = f"--database.url={self.node.database.url}"
        keys = json.loads(run_reeve("keys", "list", "--json", url).stdout)
        self.assertEqual({(x["role"], x["name"], x["user_id"])
                          for x in keys["keys"]},
                         {("operator", "ops", None), ("client", "app", "kim")})
        table = run_reeve("keys", "list", url).stdout
        for key in keys["keys"]:
            self.assertIn(key["id"], table)
        done = run_reeve("keys", "revoke", NO_ID, url)
        self.assertEqual(done.returncode, NOT_FOUND, done)
        self.assertNotIn(operator, table)


class Address(CommandTest):
    """Where the node is, and what else may be there."""

    def test_the_option_wins(self):
        self.read("stats", "--url=" + self.node.url,
                  environment={"REEVE_URL": "http://127.0.0.1:1"})
        self.read("stats", "--url=" + self.node.url + "/")

    def test_nobody_is_there(self):
        url = f"http://127.0.0.1:{free_port()}"
        for args in (["stats"], ["jobs", "list"], ["jobs", "watch", NO_ID],
                     ["enqueue", "WORK", "--target=t", "--wait"], ["top"]):
            self.refused(UNREACHABLE, *args, "--url=" + url,
                         text="cannot reach")

    def test_no_address(self):
        for url in ("localhost", "ftp://127.0.0.1", "http://", "file:///etc"):
            self.refused(USAGE, "stats", "--url=" + url, text="--url")

    def test_credentials_are_not_shown(self):
        done = self.run_command("stats", code=UNREACHABLE, environment={
            "REEVE_URL": f"http://me:c4n4ry@127.0.0.1:{free_port()}"})
        self.assertNotIn("c4n4ry", done.stderr)

    def pretend(self, answer) -> str:
        """Somebody who calls `answer(path)` for each request, and answers with
        its status, content type and body; the option that leads there."""
        class Other(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                status, kind, body = answer(self.path)
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        for end in (server.server_close, thread.join, server.shutdown):
            self.addCleanup(end)
        return f"--url=http://127.0.0.1:{server.server_port}"

    def test_somebody_else_is_there(self):
        url = self.pretend(lambda path: (404 if "jobs" in path else 200,
                                         "text/html",
                                         b"<h1>\x1b[2J hello</h1>"))
        for args in (["stats"], ["jobs", "list"], ["jobs", "show", "x"]):
            self.refused(FAILED, *args, url, text="not a Reeve node")

    def test_a_hostile_node(self):
        """`run_command` fails on any control character."""
        job = json.dumps({"id": HOSTILE, "status": HOSTILE, "version": 1,
                          "updated_at": HOSTILE, "error_message": HOSTILE})
        end = json.dumps({"status": "FAILED", "version": 2,
                          "updated_at": HOSTILE})
        events = f"event: job\ndata: {job}\n\nevent: job\ndata: {end}\n\n"

        def answer(path):
            if path.endswith("/events"):
                return 200, "text/event-stream", events.encode()
            return 200, "application/json", job.encode()

        url = self.pretend(answer)
        self.assertIn("red", self.read("jobs", "cancel", "x", url))
        self.assertIn("red", self.read("jobs", "watch", "x", url,
                                       code=JOB_FAILED))

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            done = subprocess.run(
                [BIN, "stats"], stdout=full, stderr=subprocess.PIPE,
                timeout=60,
                env=clean_environment({"REEVE_URL": self.node.url}))
        self.assertEqual(done.returncode, FAILED)

    def test_clients_leave_the_database_alone(self):
        folder = os.path.join(self.node.folder, "empty")
        os.mkdir(folder)
        done = run_reeve("stats", "--url=" + self.node.url, cwd=folder,
                         environment={"REEVE_DATABASE_URL": "nonsense"})
        self.assertEqual(done.returncode, OK, done)
        self.assertEqual(os.listdir(folder), [])


if __name__ == "__main__":
    unittest.main()
