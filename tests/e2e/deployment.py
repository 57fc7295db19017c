# tests/e2e/deployment.py -- what a deployment calls: `migrate`, `check`, the
# manual and the completions.
import json
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest
from urllib.parse import urlsplit

from harness import BIN, ROOT, Database, Node, both_stores, free_port, \
    read_article, run_reeve, time_in
from postgres import Postgres as Server

OK, FAILED, USAGE, UNREACHABLE, OUTSTANDING = 0, 1, 2, 4, 7


def help_of(*path: str) -> str:
    return run_reeve(*path, "--help").stdout


def commands(path: tuple = ()) -> list[tuple]:
    """All commands, as --help shows them."""
    text = help_of(*path)
    if "\nSubcommands:" not in text:
        return [path]
    names = re.findall(r"^  ([a-z]+) ", text.split("\nSubcommands:")[1], re.M)
    return [x for name in names for x in commands((*path, name))]


def options_of(path: tuple) -> set[str]:
    return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", help_of(*path), re.M))


class DatabaseTest(unittest.TestCase):
    store = ""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="reeve-deployment-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.database = Database(self.store, self.folder)
        self.url = "--database.url=" + self.database.url

    def check(self, code: int, *args, **kwargs) -> dict:
        args = args or (self.url,)
        done = run_reeve("check", "--json", *args, **kwargs)
        self.assertEqual(done.returncode, code, done)
        result = json.loads(done.stdout)
        self.assertEqual(result["ok"], code == OK)
        text = run_reeve("check", *args, **kwargs)
        self.assertEqual(text.returncode, code, text)
        for line, check in zip(text.stdout.splitlines(), result["checks"],
                               strict=True):
            self.assertEqual(line.split()[0],
                             "ok" if check["ok"] else "wrong")
            self.assertIn(check["check"], line)
        return {x["check"]: x for x in result["checks"]}

    def migrate(self) -> list[str]:
        done = run_reeve("migrate", self.url)
        self.assertEqual(done.returncode, OK, done)
        return done.stdout.splitlines()


@both_stores
class Schema(DatabaseTest):
    def test_from_nothing_to_ready(self):
        kind = "sqlite" if self.store == "sqlite" else "postgres"
        files = sorted(x.name for x in (
            ROOT / "persistence/migrations" / kind).glob("*.sql"))
        found = self.check(OUTSTANDING)
        self.assertFalse(found["schema"]["ok"])
        self.assertIn(files[0], found["schema"]["text"])
        # It only looks.
        self.check(OUTSTANDING)
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(self.migrate(), ["applied " + x for x in files])
        self.assertEqual(self.migrate(), ["nothing to apply"])
        found = self.check(OK)
        self.assertIn(str(len(files)), found["schema"]["text"])
        table = "migrations" if kind == "sqlite" else "reeve.migrations"
        self.database.sql(f"DELETE FROM {table} WHERE version ="
                          f" {len(files)}")
        found = self.check(OUTSTANDING)
        self.assertIn(files[-1], found["schema"]["text"])
        self.assertIn(f"1 of {len(files)}", found["schema"]["text"])

    def test_a_newer_schema(self):
        self.migrate()
        table = "migrations" if self.store == "sqlite" else "reeve.migrations"
        self.database.sql(
            f"UPDATE {table} SET name = '0999_future.sql', version = 999"
            " WHERE version = 1")
        found = self.check(FAILED)
        self.assertIn("0999_future.sql", found["schema"]["text"])
        done = run_reeve("migrate", self.url)
        self.assertEqual(done.returncode, FAILED, done)
        self.assertIn("0999_future.sql", done.stderr)

    def test_configurations(self):
        self.migrate()
        for option in ("--workers=0", "--workrs=3", "--auth.mode=maybe",
                       "--config-file=/no/file", "workers",
                       "--database.url=mysql://h/db",
                       "--database.url=postgresql://h:port/db",
                       "--types.X.processor=command",
                       "--san.time-zone=Mars/Olympus"):
            found = self.check(USAGE, self.url, option)
            self.assertFalse(found["configuration"]["ok"])
        found = self.check(OK, self.url, environment={"REEVE_WRKERS": "1"})
        self.assertIn("REEVE_WORKERS", found["warning"]["text"])


    def test_what_cannot_run_leaves_the_database_alone(self):
        for option in ("--san.time-zone=Mars/Olympus",
                       "--types.X.processor=command"):
            done = run_reeve("serve", self.url, option)
            self.assertEqual(done.returncode, USAGE, done)
            self.assertIn(option[2:].split("=")[0][:7], done.stderr)
            self.check(OUTSTANDING)


class Sqlite(DatabaseTest):
    store = "sqlite"

    def test_a_folder_that_is_not_there(self):
        found = self.check(FAILED, "--database.url=sqlite:/no/such/reeve.db")
        self.assertIn("/no/such", found["permissions"]["text"])

    def test_a_file_that_is_no_database(self):
        with open(self.database.path, "w", encoding="ascii") as out:
            out.write("x" * 5000)
        found = self.check(UNREACHABLE)
        self.assertFalse(found["database"]["ok"])
        self.assertEqual(os.path.getsize(self.database.path), 5000)

    def test_an_empty_file(self):
        sqlite3.connect(self.database.path).close()
        self.check(OUTSTANDING)


class Postgres(DatabaseTest):
    store = "postgresql"

    def as_user(self, name: str, sql: str = "") -> str:
        self.database.sql(f"DROP ROLE IF EXISTS {name}")
        self.database.sql(f"CREATE ROLE {name} LOGIN")
        if sql:
            self.database.sql(sql)
        url = urlsplit(self.database.url)
        host = url.netloc.rsplit("@", 1)[-1]
        return "--database.url=" + url._replace(
            netloc=f"{name}@{host}").geturl()

    def test_nobody_answers(self):
        url = f"postgresql://u:c4n4ry@127.0.0.1:{free_port()}/db"
        found = self.check(UNREACHABLE, "--database.url=" + url)
        self.assertNotIn("c4n4ry", json.dumps(found))
        for command in (["migrate"], ["keys", "list"],
                        ["accounts", "show", "kim"]):
            done = run_reeve(*command, "--database.url=" + url)
            self.assertEqual(done.returncode, UNREACHABLE, done)
            self.assertNotIn("c4n4ry", done.stderr)

    def test_a_server_that_forgets(self):
        self.migrate()
        # That of the tests may.
        found = self.check(OK)
        self.assertIn("off", found["durability"]["text"])
        durable = Server(durable=True)
        self.addCleanup(durable.close)
        url = "--database.url=" + durable.url()
        self.assertNotIn("durability", self.check(OUTSTANDING, url))
        durable.sql("ALTER SYSTEM SET full_page_writes = off")
        durable.sql("SELECT pg_reload_conf()")
        self.assertIn("full_page_writes",
                      self.check(OUTSTANDING, url)["durability"]["text"])

    def test_a_user_who_may_not(self):
        url = self.as_user("stranger")
        found = self.check(FAILED, url)
        self.assertIn("create", found["permissions"]["text"])
        self.migrate()
        found = self.check(FAILED, url)
        self.assertIn("schema reeve", found["permissions"]["text"])
        self.database.sql("GRANT USAGE ON SCHEMA reeve TO stranger;"
                          "GRANT SELECT ON ALL TABLES IN SCHEMA reeve"
                          " TO stranger")
        found = self.check(FAILED, url)
        self.assertIn("INSERT", found["permissions"]["text"])
        self.database.sql(
            "GRANT ALL ON ALL TABLES IN SCHEMA reeve TO stranger;"
            "GRANT ALL ON ALL SEQUENCES IN SCHEMA reeve TO stranger")
        self.check(OK, url)
        self.database.sql("DROP OWNED BY stranger; DROP ROLE stranger")

    def lacking(self, url: str) -> dict[str, str]:
        """The privileges that `check` misses, by the names of tables."""
        done = run_reeve("check", "--json", url)
        texts = [x["text"] for x in json.loads(done.stdout)["checks"]
                 if x["check"] == "permissions" and not x["ok"]]
        self.assertEqual(done.returncode, FAILED if texts else OK, done)
        return dict(re.search(r"reeve\.(\w+) \((.*)\)$", text).groups()
                    for text in texts)

    def test_the_privileges_it_asks_for(self):
        self.migrate()
        url = self.as_user("clerk", "GRANT USAGE ON SCHEMA reeve TO clerk")
        asked = self.lacking(url)
        tables = {x for x, in self.database.sql(
            "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p', 'v')"
            " AND relnamespace = 'reeve'::regnamespace")}
        self.assertEqual(asked.keys(), tables | {"job_seq_seq"})
        for name, privileges in asked.items():
            kind = "SEQUENCE" if name == "job_seq_seq" else "TABLE"
            self.database.sql(
                f"GRANT {privileges} ON {kind} reeve.{name} TO clerk")
        self.assertEqual(self.lacking(url), {})
        for name, privilege in (
                ("types", "UPDATE"), ("accounts", "UPDATE"),
                ("api_keys", "UPDATE"), ("pages", "DELETE"),
                ("page_images", "UPDATE"), ("scraps", "DELETE"),
                ("finished_counts", "DELETE"), ("job", "DELETE"),
                ("daily_summaries", "UPDATE"), ("contents", "UPDATE")):
            self.database.sql(f"REVOKE {privilege} ON {name} FROM clerk")
            self.assertEqual(self.lacking(url), {name: privilege})
            self.database.sql(f"GRANT {privilege} ON {name} TO clerk")
        self.work_as(url)
        self.database.sql("DROP OWNED BY clerk; DROP ROLE clerk")

    def work_as(self, url: str):
        """A node does what it does with those privileges and no others."""
        done = run_reeve("accounts", "grant", "kim", "1000", url)
        self.assertEqual(done.returncode, OK, done)
        done = run_reeve("keys", "create", "--name=k", "--role=operator", url)
        self.assertEqual(done.returncode, OK, done)
        key = done.stderr.split()[1]
        done = run_reeve("keys", "revoke", key, url)
        self.assertEqual(done.returncode, OK, done)
        with Node(database=self.database, options={
                "database.url": url.split("=", 1)[1]}) as node:
            def post(path: str, body=None) -> dict:
                answer = node.post("/api/" + path, body)
                self.assertIn(answer.status, (200, 201, 202), answer)
                return answer.json

            scrap = post("scraps", {"content": read_article("en")})
            card = node.wait_for_job(scrap["job_id"])
            self.assertEqual(card["status"], "COMPLETED", card)
            day = post("daily-summaries", {"date": card["created_at"][:10]})
            for what in ("til", "recall"):
                made = post(f"daily-summaries/{day['daily_summary_id']}/{what}")
                done = node.wait_for_job(made["job_id"])
                self.assertEqual(done["status"], "COMPLETED", done)
            book = post("generate", {
                "title": "The Fox", "prompt": "a fox", "pages": 2,
                "user_id": "kim"})
            done = node.wait_for_job(book["job_id"])
            self.assertEqual(done["status"], "COMPLETED", done)
            redrawn = post(f"contents/{book['content_id']}/pages/1/image")
            done = node.wait_for_job(redrawn["job_id"])
            self.assertEqual(done["status"], "COMPLETED", done)
            failed = node.add_job()["id"]
            node.wait_for_job(failed, "FAILED")
            post(f"jobs/{failed}/retry")
            node.wait_for_job(failed, "FAILED")
            later = node.add_job(run_at=time_in(3600))["id"]
            post(f"jobs/{later}/cancel")
            post("types/CARD_ANALYSIS/pause", {"reason": "x"})
            post("types/CARD_ANALYSIS/resume")
            answer = node.request("DELETE", "/api/scraps/"
                                  + scrap["scrap_id"])
            self.assertIn(answer.status, (200, 204), answer)
            self.assertNotIn("permission denied", node.log)

    def test_a_database_that_takes_no_writes(self):
        self.migrate()
        found = self.check(FAILED, self.url + "?options=-c%20"
                           "default_transaction_read_only%3Don")
        self.assertIn("read-only", found["permissions"]["text"])


class Words(unittest.TestCase):
    """The manual and the completions know every command and option."""

    @classmethod
    def setUpClass(cls):
        cls.commands = commands()
        cls.folder = tempfile.mkdtemp(prefix="reeve-words-")
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name, args in (("reeve.1", ["manual"]),
                           ("bash", ["completion", "bash"]),
                           ("zsh", ["completion", "zsh"]),
                           ("fish", ["completion", "fish"])):
            with open(f"{cls.folder}/{name}", "w", encoding="utf-8") as out:
                subprocess.run([BIN, *args], stdout=out, check=True)

    def run_shell(self, *command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True,
                              timeout=60, cwd=self.folder)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def completed(self, shell: str, *words: str) -> set[str]:
        """What it offers for the last word."""
        line = " ".join(f"'{x}'" for x in words)
        if shell == "bash":
            text = self.run_shell("bash", "--norc", "-c", f"""
              source ./bash
              COMP_WORDS=(reeve {line}) COMP_CWORD={len(words)}
              _reeve
              printf '%s\\n' "${{COMPREPLY[@]}}" """)
        elif shell == "zsh":
            # `compadd` and `_describe` are there while a line is edited only.
            text = self.run_shell("zsh", "-f", "-c", f"""
              compdef() {{ }}
              compadd() {{ shift; print -l -- $@ }}
              _describe() {{ print -l -- ${{items%%:*}} }}
              source ./zsh
              words=(reeve {line}) CURRENT={len(words) + 1}
              _reeve""")
            return {x for x in text.split() if x.startswith(words[-1])}
        else:
            text = self.run_shell(
                "fish", "--no-config", "-c",
                f"source ./fish; complete -C 'reeve {' '.join(words)}'")
        return {x.split("\t")[0] for x in text.splitlines()}

    def test_there_are_commands(self):
        for path in (("serve",), ("migrate",), ("check",), ("enqueue",),
                     ("jobs", "watch"), ("types", "pause"), ("keys", "revoke"),
                     ("accounts", "grant"), ("completion", "fish"), ("top",)):
            self.assertIn(path, self.commands)

    def test_shells(self):
        for shell in ("bash", "zsh", "fish"):
            with self.subTest(shell):
                self.assertIsNotNone(shutil.which(shell), "not installed")
                def offers(expected, *words, shell=shell):
                    found = self.completed(shell, *words)
                    self.assertLessEqual(set(expected),
                                         {x.rstrip("=") for x in found})

                offers(["jobs"], "jo")
                offers(["list", "watch", "retry"], "jobs", "")
                offers(["fish"], "completion", "f")
                offers(["FAILED"], "jobs", "list", "--status", "")
                offers(["--workers"], "serve", "--work")
                for path in (("jobs", "list"), ("jobs", "retry"),
                             ("types", "pause"), ("enqueue",)):
                    offers(options_of(path), *path, "--")
                self.assertNotIn("--status",
                                 self.completed(shell, "enqueue", "--"))

    def test_no_option_is_forgotten(self):
        for name in ("bash", "zsh", "fish"):
            with open(f"{self.folder}/{name}", encoding="utf-8") as file:
                words = set(re.findall(r"[\w.-]+", file.read()))
            for path in self.commands:
                options = options_of(path)
                if name == "fish":
                    options = {x[2:] for x in options}
                self.assertLessEqual({*path, *options}, words, (name, path))

    def test_bash_splits_words_at_equal_signs(self):
        self.assertEqual(
            self.completed("bash", "jobs", "list", "--status", "=", "FA"),
            {"FAILED"})
        self.assertEqual(
            self.completed("bash", "jobs", "list", "--status", "="),
            {"PENDING", "PROCESSING", "COMPLETED", "FAILED", "CANCELLED"})

    def test_the_manual_is_complete(self):
        text = self.run_shell("man", "-l", "-Tutf8", "reeve.1")
        text = re.sub(".\x08|\x1b\\[[0-9;]*m", "", text).replace("‐", "-")
        for path in self.commands:
            self.assertIn("reeve " + " ".join(path), text)
            for option in options_of(path) - {"--help"}:
                self.assertIn(option, text, path)
        config = (ROOT / "config/reeve.conf").read_text("utf-8")
        for key in re.findall(r"^([a-z][\w.-]+) =", config, re.M):
            self.assertIn("--" + key, text)
        for code in range(8):
            self.assertRegex(text.split("EXIT STATUS")[1], rf"\n +{code} ")

    def test_the_manual_is_well_formed(self):
        done = subprocess.run(
            ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z",
             "reeve.1"], capture_output=True, cwd=self.folder,
            env={**os.environ, "MANWIDTH": "80"})
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.run_shell(
            "mandoc", "-T", "lint", "-W", "warning", "reeve.1"), "")


if __name__ == "__main__":
    unittest.main()
