# bench/harness/stores.py -- an empty database for a node, and looks into it
# that bypass the node.
import os
import shutil
import sqlite3
import tempfile

from services import PostgresServer

_LEFT = ("EXISTS (SELECT 1 FROM {0}queue) "
         "OR EXISTS (SELECT 1 FROM {0}running)")


class PostgresStore:
    name = "postgresql"

    def __init__(self, server: PostgresServer):
        self.server = server
        self.server_pid = server.pid
        self._database = server.create_database()
        self.url = server.url(self._database)
        self.db = server.psql(self._database)

    def settle(self):
        self.db.run("VACUUM ANALYZE")
        self.db.run("CHECKPOINT")

    def drained(self) -> bool:
        return self.db.is_true("NOT (" + _LEFT.format("reeve.") + ")")

    def add_history(self, count: int):
        """COMPLETED jobs of yesterday."""
        self.db.run(
            "INSERT INTO reeve.job (id, job_type, target_id, payload, outcome,"
            " attempts, run, run_at, created_at, started_at, finished_at,"
            " updated_at) SELECT i, 'BENCH', i::text, jsonb_build_object("
            "'id', g, 'target', i), 'COMPLETED', 1, 1, t, t, t, t, t FROM"
            " (SELECT g, gen_random_uuid() AS i, now() - interval '1 day' AS t"
            f" FROM generate_series(1, {count}) g) x")

    def add_job(self):
        self.db.run("SELECT reeve.enqueue('BENCH', 'target')")

    def counts(self) -> dict:
        """Jobs by status, and how many took more than one attempt."""
        rows = self.db.run("SELECT status, count(*) FROM reeve.jobs GROUP BY 1")
        again = self.db.run("SELECT count(*) FROM reeve.jobs"
                            " WHERE attempts > 1")
        return {**{status: int(count) for status, count in rows},
                "rescued": int(again[0][0])}

    def close(self):
        self.db.close()
        self.server.drop_database(self._database)


class SqliteStore:
    name = "sqlite"
    server_pid = None

    def __init__(self, folder: str):
        self._folder = tempfile.mkdtemp(dir=folder, prefix="sqlite-")
        self._path = os.path.join(self._folder, "reeve.db")
        self.url = f"sqlite:{self._path}"
        self._db: sqlite3.Connection | None = None

    def _connection(self) -> sqlite3.Connection:
        if self._db is None:
            self._db = sqlite3.connect(self._path, timeout=30,
                                       isolation_level=None)
        return self._db

    def settle(self):
        self._connection().execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def drained(self) -> bool:
        query = "SELECT NOT (" + _LEFT.format("") + ")"
        return self._connection().execute(query).fetchone() == (1,)

    def close(self):
        if self._db is not None:
            self._db.close()
        shutil.rmtree(self._folder)
