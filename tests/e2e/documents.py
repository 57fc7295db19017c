# tests/e2e/documents.py -- README.md and docs/: every link leads somewhere, the
# reference of options is current, and what is marked as runnable runs as written.
#
# Runnable is a block that is fenced as `sh run` (both stores), `sh run=sqlite` or
# `sh run=postgresql`, and an indented one behind `<!-- run -->`. Those of one file
# are one script, in a folder of its own, beside a node that is served there. Only
# the port is another one; a refused request fails the script. Where a file names
# what the package installs, it is installed in that folder, for this user.
import http.client
import os
import re
import shutil
import ssl
import subprocess
import tempfile
import unittest
from pathlib import Path

from event_stream import EventStream
from harness import BIN, ROOT, Node, Postgres, both_stores, free_port, time_in
from process import Process

FILES = [ROOT / x for x in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
FILES += sorted(ROOT.glob("docs/*.md"))

FENCED = re.compile(r"^```sh run(?:=(\w+))?\n(.*?)^```$", re.M | re.S)
INDENTED = re.compile(r"^<!-- run -->\n\n((?:    .*\n|\n)+)", re.M)

CURL = """#!/bin/bash
exec {curl} --fail-with-body --max-time 60 "${{@//localhost:8080/127.0.0.1:{port}}}"
"""

# `runuser -u reeve -- COMMAND`, where nobody has to be anybody else.
RUNUSER = """#!/bin/bash
[ "$1 $2 $3" = "-u reeve --" ] && shift 3 && exec "$@"
"""


def blocks_of(text: str, store: str) -> list[str]:
    found = [(x.start(), x[2]) for x in FENCED.finditer(text)
             if x[1] in (None, store)]
    found += [(x.start(), re.sub("^    ", "", x[1], flags=re.M))
              for x in INDENTED.finditer(text)]
    return [block for _, block in sorted(found)]


def prose_of(text: str) -> str:
    """Without what is code."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)
    return re.sub(r"`[^`\n]*`", "", text)


def anchors_of(path: Path) -> set[str]:
    """As GitHub makes them."""
    result = set()
    for heading in re.findall(r"^#+ (.+)$", path.read_text("utf-8"), re.M):
        name = re.sub(r"[^\w\- ]", "", heading.lower())
        result.add(name.replace(" ", "-"))
    return result


class Links(unittest.TestCase):
    def test_they_lead_somewhere(self):
        count = 0
        for path in FILES:
            links = re.findall(r"\]\(([^)\s]+)\)",
                               prose_of(path.read_text("utf-8")))
            for link in links:
                with self.subTest(file=path.name, link=link):
                    if re.match(r"[a-z]+:", link):
                        self.assertRegex(link, r"^https://\w")
                        continue
                    count += 1
                    name, _, anchor = link.partition("#")
                    target = (path.parent / name).resolve() if name else path
                    self.assertTrue(target.exists())
                    if anchor:
                        self.assertIn(anchor, anchors_of(target))
        self.assertGreater(count, 10)

    def test_every_document_is_linked(self):
        readme = (ROOT / "README.md").read_text("utf-8")
        for path in ROOT.glob("docs/*.md"):
            self.assertIn(f"docs/{path.name}", readme)


class Configuration(unittest.TestCase):
    def test_it_is_current(self):
        done = subprocess.run([str(ROOT / "scripts/configuration"), BIN],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(
            (ROOT / "docs/configuration.md").read_text("utf-8"), done.stdout,
            "run scripts/configuration")


@both_stores
class Runnable(unittest.TestCase):
    store = ""

    def run_blocks(self, path: Path, blocks: list[str]):
        with Node(self.store, start=False) as node:
            folder = Path(node.folder)
            programs = folder / "bin"
            programs.mkdir()
            # `reeve` beside the node finds its database without being told.
            environment = {**os.environ, "PATH": f"{programs}:" +
                           os.environ["PATH"]}
            environment.update(self.settings(node))
            node.start()
            (programs / "reeve").symlink_to(BIN)
            built = folder / "build/release"
            built.mkdir(parents=True)
            (built / "reeve").symlink_to(BIN)
            curl = programs / "curl"
            curl.write_text(CURL.format(curl=shutil.which("curl"),
                                        port=node.port))
            curl.chmod(0o755)
            environment["REEVE_URL"] = node.url
            script = "set -euxo pipefail\n" + "\n".join(blocks)
            start = folder
            if "/etc/reeve/" in script:
                script = self.install(folder, script, environment)
                # A database by default would be here.
                start = folder / "elsewhere"
                start.mkdir()
            done = subprocess.run(["bash", "-c", script], cwd=start,
                                  env=environment, capture_output=True,
                                  text=True, timeout=240)
            self.assertEqual(done.returncode, 0,
                             f"{path.name}:\n{done.stdout}\n{done.stderr}")
            # jq prints it for what is not there.
            self.assertNotRegex(done.stdout, r"(?m)^null$", path.name)
            if start != folder:
                self.assertEqual(list(start.glob("*.db")), [], path.name)

    def install(self, folder: Path, script: str, environment: dict) -> str:
        """The script with the package's places in the folder, and those."""
        places = {"/etc/reeve/": folder / "etc/reeve",
                  "/etc/default/": folder / "etc/default",
                  "/var/lib/reeve": folder}
        for place in places.values():
            place.mkdir(parents=True, exist_ok=True)
        database = environment.pop("REEVE_DATABASE_URL", None)
        (folder / "etc/default/reeve").write_text(
            (ROOT / "packaging/default").read_text("utf-8") +
            (f"REEVE_DATABASE_URL='{database}'\n" if database else ""))
        text = (ROOT / "config/reeve.conf").read_text("utf-8")
        self.assertIn("sqlite:./", text)
        (folder / "etc/reeve/reeve.conf").write_text(
            text.replace("sqlite:./", f"sqlite:{folder}/"))
        runuser = folder / "bin/runuser"
        runuser.write_text(RUNUSER)
        runuser.chmod(0o755)
        for place, where in places.items():
            script = script.replace(
                place, f"{where}/" if place.endswith("/") else str(where))
        return script

    def settings(self, node: Node) -> dict:
        """What makes `reeve` and `psql` find the node's database."""
        if self.store == "sqlite":
            self.assertEqual(node.database.url,
                             f"sqlite:{node.folder}/reeve.db")
            return {}
        server = Postgres.shared()
        user = re.search(r"//([^@]+)@", node.database.url)[1]
        return {"REEVE_DATABASE_URL": node.database.url, "PGHOST": "127.0.0.1",
                "PGPORT": str(server.port), "PGUSER": user,
                "PGDATABASE": node.database.name}

    def test_all(self):
        ran = 0
        for path in FILES:
            if blocks := blocks_of(path.read_text("utf-8"), self.store):
                with self.subTest(path.name):
                    self.run_blocks(path, blocks)
                ran += len(blocks)
        self.assertGreater(ran, 10)


class Proxy(unittest.TestCase):
    """The configuration of nginx in docs/operations.md, with other addresses."""

    def start(self, node: Node) -> int:
        folder = tempfile.mkdtemp(prefix="reeve-nginx-")
        self.addCleanup(shutil.rmtree, folder)
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes",
             "-keyout", f"{folder}/jobs.example.key", "-out",
             f"{folder}/jobs.example.pem", "-days", "2", "-subj",
             "/CN=jobs.example"], check=True, capture_output=True)
        text = (ROOT / "docs/operations.md").read_text("utf-8")
        [server] = re.findall(r"^```nginx\n(.*?)^```$", text, re.M | re.S)
        port = free_port()
        for old, new in (("127.0.0.1:8080", f"127.0.0.1:{node.port}"),
                         ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
                         ("/etc/ssl/", f"{folder}/")):
            self.assertIn(old, server)
            server = server.replace(old, new)
        places = "".join(
            f"{kind}_temp_path {folder}/{kind};" for kind in
            ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        path = Path(folder, "nginx.conf")
        path.write_text(
            f"daemon off; master_process off; pid {folder}/pid;"
            "error_log stderr notice; events {} http { access_log off;"
            f"{places}\n{server}}}\n")
        program = shutil.which("nginx", path="/usr/sbin:" + os.environ["PATH"])
        nginx = Process([program, "-p", folder, "-e", "stderr", "-c",
                         str(path)])
        self.addCleanup(nginx.kill)
        nginx.wait_for_line("using the")
        return port

    def test_requests_and_events_pass(self):
        node = Node(options={"http.allowed-hosts": '["jobs.example"]'})
        self.addCleanup(node.close)
        port = self.start(node)
        trusting = ssl.create_default_context()
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE

        def client():
            result = http.client.HTTPSConnection("127.0.0.1", port,
                                                 timeout=30, context=trusting)
            self.addCleanup(result.close)
            return result

        host = {"Host": "jobs.example"}
        job = node.add_job(run_at=time_in(3600))
        events = EventStream(client(), f"/api/jobs/{job['id']}/events", host,
                             30)
        self.addCleanup(events.close)
        # Each is there before the next one is made: nothing holds it back.
        self.assertEqual(events.next().data["status"], "PENDING")
        answer = node.request("POST", f"/api/jobs/{job['id']}/cancel",
                              headers={**host, "Origin":
                                       "https://jobs.example"},
                              connection=client())
        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(events.next().data["status"], "CANCELLED")
        self.assertIsNone(events.next())


if __name__ == "__main__":
    unittest.main()
