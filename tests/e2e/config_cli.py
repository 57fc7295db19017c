# tests/e2e/config_cli.py -- settings, exit codes and the log of the program.
import json
import os
import re
import tempfile
import unittest

from harness import (FakeAnalysis, Node, NodeTest, both_stores, quote,
                     run_reeve, time_in)

VALID = ("--http.port=0", "--database.url=sqlite:never.db")


class Command(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="reeve-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, text: str) -> str:
        path = os.path.join(self.folder, "reeve.conf")
        with open(path, "w", encoding="utf-8") as out:
            out.write(text)
        return path

    def run_serve(self, *args, environment=None):
        return run_reeve("serve", *args, environment=environment,
                         cwd=self.folder)

    def refused(self, *args, code=2, texts=(), environment=None):
        done = self.run_serve(*args, environment=environment)
        self.assertEqual(done.returncode, code, done)
        self.assertEqual(done.stdout, "")
        for text in texts:
            self.assertIn(text, done.stderr)
        self.assertLess(len(done.stderr.splitlines()), 4, done.stderr)
        self.assertFalse(os.path.exists(self.folder + "/never.db"))
        return done.stderr

    def printed(self, *args, environment=None) -> dict[str, str]:
        done = self.run_serve("--print-config", *args, environment=environment)
        self.assertEqual(done.returncode, 0, done)
        return dict(line.split(" = ", 1) for line in done.stdout.splitlines()
                    if not line.startswith("#"))


class Usage(Command):
    def test_help_and_version(self):
        for args in (["--help"], ["-h"], ["serve", "--help"]):
            done = run_reeve(*args)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("serve", done.stdout)
        done = run_reeve("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^reeve \d+\.\d+\.\d+\n$")

    def test_wrong_commands(self):
        for args in ([], ["nonsense"], ["--nonsense"], ["serves"]):
            done = run_reeve(*args)
            self.assertEqual(done.returncode, 2, done)
            self.assertTrue(done.stderr)

    def test_wrong_keys(self):
        for key, nearest in (("http.prot", "http.port"),
                             ("wrokers", "workers"),
                             ("database.uri", "database.url"),
                             ("log.levle", "log.level")):
            self.refused(*VALID, f"--{key}=1", texts=(key, f"'{nearest}'"))
            path = self.write(f"{key} = 1\n")
            self.refused(f"--config-file={path}",
                         texts=(key, f"'{nearest}'", path))

    def test_wrong_values(self):
        for key, value in (("http.port", "99999"), ("http.port", "-1"),
                           ("http.port", "http"), ("workers", "0"),
                           ("workers", "65"), ("workers", ""),
                           ("http.address", "localhost"),
                           ("shutdown-grace", "5"),
                           ("shutdown-grace", "-5s"), ("node.lease", "1ms"),
                           ("node.name", "a#b"), ("node.name", "a b"),
                           ("retry.factor", "nan"), ("retry.factor", "0.5"),
                           ("retry.jitter", "2"), ("log.level", "loud"),
                           ("log.format", "xml"), ("auth.mode", "none"),
                           ("analysis.provider", "oracle"),
                           ("analysis.url", "ftp://x"),
                           ("http.allowed-origins", '["app.example"]'),
                           ("types.CARD_ANALYSIS.max-attempts", "0"),
                           ("http.max-body-bytes", "1.5e3.1")):
            with self.subTest(key=key, value=value):
                self.refused(*VALID, f"--{key}={value}", texts=(key,))

    def test_wrong_arguments(self):
        self.refused(*VALID, "extra", texts=("extra",))
        self.refused(*VALID, "--workers", texts=("workers",))
        self.refused(*VALID, "-x", texts=("-x",))

    def test_wrong_files(self):
        self.refused("--config-file=/nowhere/reeve.conf",
                     texts=("/nowhere/reeve.conf",))
        self.refused(*VALID, f"--config-file={self.folder}",
                     texts=(self.folder,))
        for text in ("workers 3\n", "workers = \n", "= 3\n", "http { port = 1",
                     "shutdown-grace = 5\n", "\x00\x01\x02", "workers = [\n"):
            with self.subTest(text):
                path = self.write(text)
                self.refused(f"--config-file={path}", texts=(path,))

    def test_wrong_environment(self):
        self.refused(*VALID, environment={"REEVE_WORKERS": "many"},
                     texts=("REEVE_WORKERS",))
        self.refused(environment={"REEVE_CONFIG_FILE": "/nowhere.conf"},
                     texts=("/nowhere.conf",))

    def test_no_authentication_is_for_loopback_only(self):
        for address in ("0.0.0.0", "::", "10.1.2.3"):
            self.refused(*VALID, f"--http.address={address}",
                         texts=("auth.mode", "loopback"))

    def test_bad_database_urls(self):
        for url in ("", "nonsense", "mysql://localhost/x", "sqlite:",
                    "/tmp/x.db", "postgresql://h:notaport/db",
                    "postgresql://h:70000/db",
                    "postgresql://u:s3cr3t@[::1/db",
                    "postgresql://u:s3cr3t@h/db?nonsense=1"):
            with self.subTest(url):
                error = self.refused(f"--database.url={url}", "--http.port=0",
                                     texts=("database.url",))
                self.assertNotIn("s3cr3t", error)

    def test_a_database_that_cannot_be_made(self):
        done = self.run_serve("--http.port=0",
                              "--database.url=sqlite:/nowhere/reeve.db")
        self.assertIn(done.returncode, (1, 2), done)
        self.assertIn("/nowhere/reeve.db", done.stderr)

    def test_port_in_use(self):
        with Node() as node:
            done = self.run_serve(f"--http.port={node.port}",
                                  "--database.url=sqlite:second.db")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertIn(str(node.port), done.stderr)


class Sources(Command):
    def test_precedence(self):
        path = self.write("workers = 5\nhttp.port = 1111\nnode.name = \"f\"\n"
                          "retry { backoff = 7s }\n# a comment\n"
                          "types.CARD_ANALYSIS.timeout = 90s\n"
                          "node.lease = 3661s\n")
        environment = {"REEVE_WORKERS": "6", "REEVE_HTTP_PORT": "2222",
                       "REEVE_CONFIG_FILE": path}
        got = self.printed("--http.port=3333", environment=environment)
        self.assertEqual(got["node.name"], '"f"')
        self.assertEqual(got["workers"], "6")
        self.assertEqual(got["http.port"], "3333")
        self.assertEqual(got["retry.backoff"], "7s")
        self.assertEqual(got["types.CARD_ANALYSIS.timeout"], "90s")
        self.assertEqual(got["node.lease"], "3661s")
        self.assertEqual(got["http.address"], '"127.0.0.1"')
        other = self.write("workers = 9\n")
        got = self.printed(f"--config-file={other}",
                           environment={"REEVE_CONFIG_FILE": "/nowhere"})
        self.assertEqual(got["workers"], "9")

    def test_what_is_printed_can_be_read_again(self):
        args = ("--workers=7", "--retry.backoff=1500ms", "--retry.jitter=0.1",
                '--http.allowed-origins=["https://a.b","http://c"]',
                "--analysis.url=https://x/?a=b#c", "--shutdown-grace=90s")
        done = self.run_serve("--print-config", *args)
        self.assertEqual(done.returncode, 0, done)
        path = self.write(done.stdout)
        again = self.run_serve("--print-config", f"--config-file={path}")
        self.assertEqual(again.returncode, 0, again)
        self.assertEqual(again.stdout, done.stdout)

    def test_secrets_are_masked(self):
        secret = "c4n4ry"
        for url in (f"postgresql://u:{secret}@h/db",
                    f"postgresql://u:x{secret}/y@h/db",
                    f"postgresql://h/db?password={secret}&sslmode=disable",
                    f"postgres://u:p@{secret}@h:1/db"):
            with self.subTest(url):
                done = self.run_serve(
                    "--print-config", f"--database.url={url}",
                    environment={"REEVE_ANALYSIS_API_KEY": secret})
                self.assertEqual(done.returncode, 0, done)
                self.assertNotIn(secret, done.stdout + done.stderr)
                self.assertIn("***", done.stdout)

    def test_unknown_variables_are_named(self):
        with Node(environment={"REEVE_HTP_PORT": "1"}) as node:
            line = node.wait_for_log("REEVE_HTP_PORT")
            self.assertIn("REEVE_HTTP_PORT", line)

    def test_settings_take_effect(self):
        with Node(options={"http.max-page-size": 7, "workers": 2},
                  environment={"REEVE_TYPES_CARD_ANALYSIS_MAX_ATTEMPTS": "9"}
                  ) as node:
            self.assertEqual(node.get("/api/jobs?limit=8").status, 400)
            self.assertEqual(node.get("/api/jobs?limit=7").status, 200)
            self.assertEqual(node.add_job()["max_attempts"], 9)


class Log(unittest.TestCase):
    def test_json_lines(self):
        with Node(options={"log.format": "json", "log.level": "debug"},
                  environment={"REEVE_\x1b[1m\nX": '"\n{'}) as node:
            node.wait_for_job(node.add_job('"\n\\')["id"])
            node.terminate()
            lines = node.log.splitlines()
        self.assertGreater(len(lines), 3)
        for line in lines:
            entry = json.loads(line)
            self.assertRegex(entry["time"],
                             r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
            self.assertIn(entry["level"], ("debug", "info", "warning",
                                           "warn", "error"))
            self.assertRegex(entry["event"], r"^[a-z-]+\.[a-z-]+$")
        events = [json.loads(line)["event"] for line in lines]
        self.assertIn("job.started", events)
        self.assertIn("job.ended", events)

    def test_text_lines(self):
        with Node() as node:
            node.wait_for_job(node.add_job()["id"])
            node.terminate()
            self.assertEqual(len(node.stdout.splitlines()), 1)
            for line in node.log.splitlines():
                self.assertTrue(re.match(
                    r"\d{4}-\d\d-\d\dT[\d:.]+Z (debug|info|warn\w*|error) "
                    r"[a-z-]+\.[a-z-]+( [a-z_]+=\S+.*)?$", line), line)

    def test_level(self):
        with Node(options={"log.level": "error"}) as node:
            node.wait_for_job(node.add_job()["id"])
            node.terminate()
            self.assertEqual(node.log, "")


@both_stores
class Secrets(NodeTest):
    """What must be in no log line, whatever happens."""

    def test_canaries(self):
        fake = FakeAnalysis()
        self.addCleanup(fake.close)
        words = {name: f"canary{number}{name}" for number, name in enumerate(
            ("password", "apikey", "payload", "scrap", "title", "idem",
             "bearer", "query", "error", "late"))}
        node = Node(self.store, {**fake.options, "log.level": "debug",
                                 "retry.backoff": "10ms", "retry.jitter": 0},
                    {"REEVE_ANALYSIS_API_KEY": words["apikey"]}, start=False)
        self.addCleanup(node.close)
        # Not on the command line, where every user sees it.
        url = node.options.pop("database.url")
        node.environment["REEVE_DATABASE_URL"] = url.replace(
            "reeve@", f"reeve:{words['password']}@")
        node.start()
        failed = node.add_job(payload={"text": words["payload"]})
        node.wait_for_job(failed["id"])
        for text in ("", "!fault http:400;detail=" + words["error"] + "\n",
                     "!fault not_json\n", "!fault wrong_shape\n",
                     "!fault http:401;detail=@text x1\n",
                     "!fault reset x1\n"):
            made = node.add_scrap(text + words["scrap"], title=words["title"])
            if "reset" not in text and "401" not in text:
                node.wait_for_job(made["job_id"])
                continue
            node.wait_for_job(made["job_id"],
                              lambda job: node.attempts(job["id"])
                              or job["status"] == "FAILED")
            # A refused key pauses the lane.
            for lane in node.get("/api/providers").json["providers"]:
                node.post("/api/providers/" + quote(lane["name"], safe="")
                          + "/resume")
        self.assertEqual(fake.calls()[0]["authorization"],
                         "Bearer " + words["apikey"])
        node.post("/api/jobs", {"type": words["payload"]})
        node.post("/api/jobs", "{" + words["payload"])
        node.get("/api/jobs?x=" + words["query"])
        node.get("/" + words["query"])
        node.request("GET", "/api/jobs", headers={
            "Authorization": "Bearer " + words["bearer"],
            "Idempotency-Key": words["idem"]})
        node.post("/api/jobs", {"type": "CARD_ANALYSIS", "target_id": "t",
                                "run_at": time_in(3600)},
                  {"Idempotency-Key": words["idem"]})
        if self.store == "postgresql":
            node.database.server.terminate_backends(node.database.name)
            node.wait_for_log("connection-lost")
            node.wait_for_job(
                node.add_job(payload={"x": words["late"]})["id"])
        shown = (node.get("/metrics").body + node.get("/api/actors").body
                 + node.get("/api/stats").body).decode()
        node.terminate()
        self.assertIn("job.ended", node.log)
        for name, word in words.items():
            self.assertNotIn(word, node.log, name)
            self.assertNotIn(word, node.stdout, name)
            self.assertNotIn(word, shown, name)

    def test_a_password_that_does_not_help(self):
        node = Node(start=False)
        self.addCleanup(node.close)
        node.options["database.url"] = ("postgresql://u:c4n4ry@127.0.0.1:1/"
                                        "db?connect_timeout=1")
        node.launch()
        line = node.wait_for_log("store.unavailable")
        node.kill9()
        self.assertNotIn("c4n4ry", node.log)
        self.assertIn("127.0.0.1", line)


@both_stores
class TwoNodes(NodeTest):
    def test_a_name_is_held_by_one_node(self):
        second = Node(database=self.node.database, start=False)
        self.addCleanup(second.close)
        second.launch()
        code = second.wait(30)
        self.assertIn(code, (1, 2))
        self.assertIn("node-1", second.log)
        self.assertIn("another", second.log)
        self.node.wait_for_job(self.node.add_job()["id"])

    def test_a_second_node(self):
        second = Node(options={"node.name": "node-2"},
                      database=self.node.database, start=False)
        self.addCleanup(second.close)
        second.launch()
        if self.store == "sqlite":
            # One process owns the file; the message says so.
            self.assertIn(second.wait(30), (1, 2))
            self.assertRegex(second.log, r"(?i)another|in use|lock")
        else:
            second.wait_until_listening()
            job = second.add_job()
            self.node.wait_for_job(job["id"])
            self.assertEqual(second.terminate(), 0)


if __name__ == "__main__":
    unittest.main()
