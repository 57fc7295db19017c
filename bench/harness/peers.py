# bench/harness/peers.py -- runs bench/peers/bench.mjs and the floors.
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from services import Missing, PostgresServer, RedisServer

PEERS = Path(__file__).resolve().parents[1] / "peers"
_OWN_NODE = PEERS / "node_modules/.bin/node"


def node_program() -> str:
    """npm brings the Node.js that the peers need on linux-x64."""
    return str(_OWN_NODE) if _OWN_NODE.exists() else "node"


def install():
    """Fetches the peers with npm, once; the versions of package-lock.json."""
    if (PEERS / "node_modules/pg").exists():
        return
    if shutil.which("npm") is None:
        raise Missing("npm (for the peers): apt-get install npm")
    done = subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=PEERS,
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(f"npm ci in bench/peers failed:\n{done.stderr}")


class Peers:
    """Every call is one counted run; returns its rows."""

    def __init__(self, server: PostgresServer, folder: str):
        self._server = server
        self._folder = folder
        self._redis: dict[str, RedisServer] = {}
        self._database = server.create_database()

    def _environment(self, redis: str | None) -> dict:
        result = {**os.environ, "BENCH_DATA": self._folder,
                  "BENCH_PG_URL": self._server.url(self._database)}
        if redis is not None:
            if redis not in self._redis:
                self._redis[redis] = RedisServer(self._folder, redis)
            result["BENCH_REDIS_URL"] = self._redis[redis].url
            result["BENCH_REDIS_MODE"] = redis
        return result

    def _rows(self, command: list[str], redis: str | None = None) -> list:
        done = subprocess.run(command, cwd=PEERS, capture_output=True,
                              text=True, env=self._environment(redis),
                              timeout=900)
        if done.returncode != 0:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
        return [json.loads(line) for line in done.stdout.splitlines() if line]

    def run(self, peer: str, measure: str, redis: str | None = None,
            **options) -> list:
        return self._rows(
            [node_program(), "bench.mjs", peer, measure, "--runs=1",
             *(f"--{key.replace('_', '-')}={value}"
               for key, value in options.items())], redis)

    def floor_pg(self, jobs: int) -> list:
        """Claim, then finish, in batches on a plain table."""
        return self._rows([node_program(), "floor-pg.mjs", f"--jobs={jobs}",
                           "--runs=1", "--only=move", "--batches=500"])

    def floor_sqlite(self, jobs: int) -> list:
        return self._rows([sys.executable, "floor-sqlite.py", "1", str(jobs),
                           "FULL"])

    def close(self):
        for server in self._redis.values():
            server.close()
