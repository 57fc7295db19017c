# bench/harness/plan.py -- what is measured, with whom beside it.
from dataclasses import dataclass
from typing import Callable

from peers import Peers
from reeve import Reeve


@dataclass
class Sizes:
    """How much of it. Quick ones say the same with more noise."""
    drain: int = 50_000
    other_drain: int = 50_000
    drain_s: float = 60
    slow_drain: int = 20_000
    slow_drain_s: int = 20
    enqueue: int = 20_000
    slow_enqueue: int = 5_000
    bulk: int = 50_000
    idle: int = 1_000
    load_s: int = 10
    many: int = 1_000_000
    floor: int = 200_000
    rest_s: float = 5
    watchers: int = 10_000
    connection_requests: int = 50_000
    notifies: int = 200
    kill: int = 100_000
    kill_lease: str = "30s"
    nodes: tuple[int, ...] = (1, 2, 4)

    @classmethod
    def quick(cls) -> "Sizes":
        return cls(drain_s=10, other_drain=20_000, slow_drain=3_000,
                   slow_drain_s=4, enqueue=10_000, slow_enqueue=1_000,
                   bulk=20_000, idle=150, load_s=3, many=50_000,
                   floor=50_000, rest_s=3, connection_requests=20_000,
                   notifies=30, kill=20_000, kill_lease="3s", nodes=(1, 2))


@dataclass
class Work:
    """One contestant's part of a section; `run` makes the rows of one run."""
    who: str
    run: Callable[[], list]


def plan(reeve: Reeve, sqlite: Reeve, peers: Peers, sizes: Sizes,
         quick: bool) -> dict[str, list[Work]]:
    """By section. The contestants of a section take turns."""
    x = sizes
    bound = {"quiet_seconds": 3 if quick else 60,
             "max_other": 1_000 if quick else 25, "retries": 1}

    def own(who: str, node: Reeve, measure: str, *arguments, **options) -> Work:
        return Work(who, lambda: [getattr(node, measure)(*arguments,
                                                         **options)])

    def drain(who: str, node: Reeve = reeve, **options) -> Work:
        return own(who, node, "drain", x.other_drain, longest=x.drain_s,
                   **options)

    def peer(who: str, name: str, measure: str, redis: str | None = None,
             **options) -> Work:
        return Work(who, lambda: peers.run(name, measure, redis, **bound,
                                           **options))

    graphile = "graphile-worker"
    sections = {
        "drain": [
            own("reeve", reeve, "drain", x.drain, longest=x.drain_s),
            peer(f"{graphile}, defaults", graphile, "drain", config="c3",
                 jobs=x.slow_drain, max_seconds=x.slow_drain_s),
            peer(f"{graphile}, fast", graphile, "drain", jobs=x.drain),
            Work("floor", lambda: peers.floor_pg(x.floor)),
        ],
        "enqueue": [
            own("reeve", reeve, "enqueue_single", x.enqueue),
            peer(graphile, graphile, "enqueue-single", jobs=x.slow_enqueue),
            peer("bullmq, AOF always", "bullmq", "enqueue-single", "aof",
                 jobs=x.slow_enqueue),
        ],
        "bulk": [
            own("reeve", reeve, "enqueue_bulk", x.bulk),
            peer(graphile, graphile, "enqueue-bulk", jobs=x.bulk),
        ],
        "idle": [
            own("reeve", reeve, "latency_idle", x.idle),
            peer("bullmq", "bullmq", "latency-idle", "default", config="c10",
                 jobs=x.idle),
        ],
        "load": [
            own("reeve", reeve, "latency_load", 500, x.load_s),
            peer("bullmq", "bullmq", "latency-load", "default", config="c10",
                 rate=500, seconds=x.load_s),
        ],
        "startup": [
            own("reeve", reeve, "startup", x.rest_s),
        ],
        "depth": [
            drain("reeve", depth=x.many),
            drain("reeve, empty table"),
        ],
        "history": [
            drain("reeve", history=x.many),
            drain("reeve, empty table"),
        ],
        "sqlite": [
            drain("reeve-sqlite", sqlite),
            Work("floor-sqlite", lambda: peers.floor_sqlite(x.floor // 2)),
        ],
        "watch": [own("reeve", reeve, "watch", x.watchers, 1_000)],
        "connections": [
            own("reeve", reeve, "connections", 1_000, x.connection_requests),
        ],
        "notify": [own("reeve", reeve, "notify", x.notifies)],
        "nodes": [drain(f"reeve, {n} node{'s' if n > 1 else ''}", nodes=n)
                  for n in x.nodes],
        "kill": [own("reeve, 2 nodes", reeve, "kill", x.kill,
                     node__lease=x.kill_lease)],
    }
    if quick:
        return sections
    sections["drain"] += [
        peer("pg-boss, fast", "pg-boss", "drain", jobs=x.drain),
        peer("bullmq, fast", "bullmq", "drain", "default", jobs=x.drain),
        peer("bullmq, fast, AOF always", "bullmq", "drain", "aof",
             jobs=x.drain)]
    sections["drain-200000"] = [
        own("reeve", reeve, "drain", 200_000),
        peer(f"{graphile}, fast", graphile, "drain", jobs=200_000,
             max_seconds=60)]
    sections["startup"] += [
        peer(graphile, graphile, "startup", config="c10"),
        peer("bullmq", "bullmq", "startup", "default", config="c10")]
    sections["sqlite"] += [
        own("reeve-sqlite, single", sqlite, "enqueue_single", x.enqueue),
        own("reeve-sqlite, bulk", sqlite, "enqueue_bulk", x.bulk),
        own("reeve-sqlite, idle", sqlite, "latency_idle", x.idle)]
    return sections
