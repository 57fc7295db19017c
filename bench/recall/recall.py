#!/usr/bin/env python3
# bench/recall/recall.py -- how long GET /api/recall takes among many cards.
#
#   bench/recall/recall.py [--cards N] [--requests N]
#
# Starts a node of its own on SQLite, on PostgreSQL, and on PostgreSQL with the
# extension `vector` where the server has it; each on loopback, on an empty
# database that is filled by SQL with the same cards. The binary is $REEVE_BIN,
# else build/release/reeve. Prints a line for each:
#
#   first    from "listening" to the answer of the first request, which waits
#            until the node has read the embeddings
#   median, p95, max   of the later requests, one after another, in ms
#   RSS      of the node afterwards
#
# and fails when two of them do not answer the same.
import argparse
import array
import os
import random
import sqlite3
import statistics
import sys
import tempfile
import time
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
os.environ.setdefault("REEVE_BIN", str(ROOT / "build/release/reeve"))
sys.path.insert(0, str(ROOT / "tests/e2e"))

from harness import Database, Node, Postgres, quote  # noqa: E402

DIMENSIONS = 256  # of local embeddings
WORDS = ("river bridge harvest engine garden market winter letter signal "
         "mountain history kitchen planet teacher window ocean").split()


def cards(count: int):
    """(id, embedding) of each card, the same in every run. Whole numbers
    are exact on all ways; one card in 50 is another's twin, so that there are
    ties, and one in 1,000 has no direction."""
    source = random.Random(1)
    last = None
    for i in range(count):
        if i % 1000 == 7:
            values = array.array("b", bytes(DIMENSIONS))
        elif i % 50 == 1:
            values = last
        else:
            values = array.array("b", source.randbytes(DIMENSIONS))
        last = values
        yield str(uuid.UUID(int=i + 1)), values


def fill_sqlite(path: str, count: int):
    rows = ((x, x, x, "A card.", "[]",
             array.array("f", values).tobytes(), "bench", i)
            for i, (x, values) in enumerate(cards(count)))
    with sqlite3.connect(path) as db:
        db.executemany(
            "INSERT INTO knowledge_cards (id, scrap_id, job_id,"
            " summary, tags, embedding, model, created_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    db.close()


def fill_postgres(database: Database, count: int):
    names = [str(x) for x in range(-128, 128)]
    with tempfile.NamedTemporaryFile("w", suffix=".copy") as file:
        for x, values in cards(count):
            numbers = ",".join([names[value + 128] for value in values])
            file.write(f"{x}\t{x}\t{x}\tA card.\t{{}}\t{{{numbers}}}"
                       "\tbench\n")
        file.flush()
        database.sql(
            "\\copy reeve.knowledge_cards (id, scrap_id, job_id,"
            f" summary, tags, embedding, model) FROM '{file.name}'")
    database.sql("ANALYZE reeve.knowledge_cards")


def resident_megabytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) // 1024
    raise AssertionError("the node is gone")


class Searches:
    """Timed requests on one connection."""

    def __init__(self, node: Node):
        self._node = node
        self._connection = node.connection()

    def one(self, text: str):
        """Milliseconds, and what was found."""
        start = time.perf_counter()
        answer = self._node.request(
            "GET", f"/api/recall?q={quote(text)}&limit=10",
            connection=self._connection)
        took = (time.perf_counter() - start) * 1000
        if answer.status != 200:
            raise AssertionError(f"recall: {answer}")
        return took, [(x["id"], x["similarity"]) for x in answer.json["cards"]]

    def many(self, texts: list[str]):
        times, found = zip(*(self.one(text) for text in texts))
        return list(times), list(found)


def measure(name: str, database: Database, texts: list[str]):
    node = Node(database=database)
    first, _ = Searches(node).one(texts[0])
    searches = Searches(node)
    times, found = searches.many(texts)
    ordered = sorted(times)
    print(f"{name:24}{first:8.0f}{statistics.median(times):8.1f}"
          f"{ordered[int(len(ordered) * 0.95)]:8.1f}{ordered[-1]:8.1f}"
          f"{resident_megabytes(node.pid):8} MB", flush=True)
    node.terminate()
    node.close()
    return found


def check_same(name: str, found, others):
    if not all(found):
        sys.exit(f"{name} finds nothing")
    for mine, theirs in zip(found, others):
        same = [x for x, _ in mine] == [x for x, _ in theirs] and all(
            abs(x - y) < 1.5e-6 for (_, x), (_, y) in zip(mine, theirs))
        if not same:
            sys.exit(f"{name} answers differently:\n{mine}\n{theirs}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cards", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=50)
    options = parser.parse_args()
    source = random.Random(2)
    texts = [" ".join(source.sample(WORDS, 5))
             for _ in range(options.requests)]
    print(f"{options.cards} cards of {DIMENSIONS} dimensions\n"
          f"{'':24}{'first':>8}{'median':>8}{'p95':>8}{'max':>8}"
          f"{'RSS':>11}")
    with tempfile.TemporaryDirectory(prefix="reeve-recall-") as folder:
        sqlite = Database("sqlite", folder)
        Node(database=sqlite).terminate()  # makes the tables
        fill_sqlite(sqlite.path, options.cards)
        expected = measure("SQLite", sqlite, texts)
        postgres = Database("postgresql", folder)
        Node(database=postgres).terminate()
        fill_postgres(postgres, options.cards)
        name = "PostgreSQL"
        check_same(name, measure(name, postgres, texts), expected)
        name = "PostgreSQL with `vector`"
        if Postgres.shared().sql("SELECT count(*) FROM "
                                 "pg_available_extensions WHERE name = "
                                 "'vector'") == [["0"]]:
            sys.exit(f"{name}: SKIPPED, the server does not have it")
        postgres.sql("CREATE EXTENSION vector SCHEMA public")
        check_same(name, measure(name, postgres, texts), expected)
    print("the same answers everywhere")


if __name__ == "__main__":
    main()
