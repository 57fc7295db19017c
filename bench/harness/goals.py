# bench/harness/goals.py -- the table: medians, ratios, goals.
import statistics
from dataclasses import dataclass


@dataclass
class Goal:
    work: str
    section: str
    figure: str
    unit: str
    # The other's section (own if empty), name and figure (same if empty).
    against: str = ""
    at_least: float | None = None
    at_most: float | None = None
    who: str = "reeve"
    other_figure: str = ""


_GRAPHILE = "graphile-worker"
GOALS = [
    Goal("drain 50,000, defaults", "drain", "jobs_per_s", "jobs/s",
         f"{_GRAPHILE}, defaults", at_least=10),
    Goal("drain 50,000, defaults", "drain", "jobs_per_s", "jobs/s",
         f"{_GRAPHILE}, fast", at_least=1.5),
    Goal("drain 50,000, defaults", "drain", "jobs_per_s", "jobs/s", "floor",
         at_least=1),
    Goal("enqueue one, HTTP, 64 connections", "enqueue", "jobs_per_s",
         "jobs/s", _GRAPHILE, at_least=10),
    Goal("enqueue one, HTTP, 64 connections", "enqueue", "jobs_per_s",
         "jobs/s", "bullmq, AOF always", at_least=2),
    Goal("enqueue 1,000 a request, HTTP", "bulk", "jobs_per_s", "jobs/s",
         _GRAPHILE, at_least=2),
    Goal("sent to started, idle, p50", "idle", "p50_ms", "ms", "bullmq",
         at_most=0.5),
    Goal("sent to started, idle, p99", "idle", "p99_ms", "ms", at_most=4),
    Goal("sent to started, 500 jobs/s, p50", "load", "p50_ms", "ms",
         at_most=2),
    Goal("sent to started, 500 jobs/s, p99", "load", "p99_ms", "ms",
         at_most=10),
    Goal("drain out of MANY pending", "depth", "started_per_s", "jobs/s",
         "reeve, empty table", at_least=0.95),
    Goal("drain beside MANY completed", "history", "jobs_per_s", "jobs/s",
         "reeve, empty table", at_least=0.95),
    Goal("drain on SQLite, synchronous FULL", "sqlite", "jobs_per_s",
         "jobs/s", "floor-sqlite", at_least=1, who="reeve-sqlite"),
    Goal("CPU of the node for 10,000 jobs", "drain", "worker_cpu_s_per_10k",
         "s", at_most=0.10),
    Goal("memory, idle", "startup", "idle_rss_mb", "MB", at_most=20),
    Goal("memory, peak while draining", "drain", "worker_peak_rss_mb", "MB",
         at_most=40),
    Goal("process start to first job started", "startup", "first_job_ms",
         "ms", at_most=60),
    Goal("10,000 watchers, 1,000 changes/s, slowest", "watch", "max_ms",
         "ms", at_most=250),
    Goal("memory for each watcher", "watch", "kb_per_watcher", "KB",
         at_most=30),
    Goal("1,000 connections, p99 over p50", "connections", "spread", "×",
         at_most=10),
    Goal("SQL enqueue to started, idle node, p99", "notify", "p99_ms", "ms",
         at_most=10),
    Goal("a node killed: jobs not done", "kill", "lost", "jobs", at_most=0,
         who="reeve, 2 nodes"),
]

# Rows of the floors that are no contestant's.
_LEFT_OUT = {"insert-1-sequential", "insert-batch"}


def shown(x: float) -> str:
    if x >= 1_000:
        return f"{x:,.0f}"
    return f"{x:.3g}" if x < 100 else f"{x:.0f}"


class Figures:
    """All rows of a run."""

    def __init__(self, rows: list[dict]):
        self._rows = [x for x in rows if x["measure"] not in _LEFT_OUT]

    def median(self, section: str, who: str, figure: str) -> float | None:
        values = [x[figure] for x in self._rows
                  if (x["section"], x["who"]) == (section, who)
                  and isinstance(x.get(figure), (int, float))]
        return statistics.median(values) if values else None

    def groups(self) -> list[tuple[str, str]]:
        return list(dict.fromkeys((x["section"], x["who"])
                                  for x in self._rows))


def _line(goal: Goal, figures: Figures, many: int) -> list[str] | None:
    own = figures.median(goal.section, goal.who, goal.figure)
    if own is None:
        return None
    work = goal.work.replace("MANY", f"{many:,}")
    result = [work, f"{shown(own)} {goal.unit}"]
    compared = own
    if goal.against:
        other = figures.median(goal.section, goal.against, goal.figure)
        if not other:
            return [*result, f"{goal.against}: not measured", "", "", ""]
        compared = own / other
        result += [f"{goal.against}: {shown(other)}", f"{compared:.2f} ×"]
    else:
        result += ["", ""]
    limit = goal.at_least if goal.at_least is not None else goal.at_most
    sign = "≥" if goal.at_least is not None else "≤"
    met = (compared >= limit if goal.at_least is not None
           else compared <= limit)
    unit = "×" if goal.against else goal.unit
    return [*result, f"{sign} {limit:g} {unit}", "met" if met else "missed"]


def markdown(head: list[str], lines: list[list[str]]) -> str:
    """A table whose columns also line up as plain text."""
    widths = [max(len(row[i]) for row in [head, *lines])
              for i in range(len(head))]
    rows = [head, ["-" * width for width in widths], *lines]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width
                                       in zip(row, widths)) + " |"
                     for row in rows)


def goals_table(rows: list[dict], many: int) -> str:
    figures = Figures(rows)
    lines = [line for goal in GOALS
             if (line := _line(goal, figures, many)) is not None]
    return markdown(["work", "Reeve", "against", "ratio", "goal", ""], lines)


_COLUMNS = {
    "jobs_per_s": "jobs/s", "p50_ms": "p50 ms", "p95_ms": "p95 ms",
    "p99_ms": "p99 ms", "max_ms": "max ms",
    "worker_cpu_s_per_10k": "CPU s/10,000",
    "server_cpu_s_per_10k": "server CPU s/10,000",
    "worker_peak_rss_mb": "peak MB", "idle_rss_mb": "idle MB",
    "first_job_ms": "first job ms", "seconds_after_kill": "s after the kill",
    "rescued": "rescued", "lost": "lost", "partial": "runs cut off"}


def _has(value: float | None, column: str) -> bool:
    return bool(value) if column == "partial" else value is not None


def all_table(rows: list[dict]) -> str:
    """Every contestant's medians; columns nobody has are left out."""
    figures = Figures(rows)
    groups = figures.groups()
    columns = [x for x in _COLUMNS
               if any(_has(figures.median(*group, x), x)
                      for group in groups)]
    lines = []
    for group in groups:
        values = [figures.median(*group, x) for x in columns]
        lines.append([*group, *("" if x is None else shown(x)
                                for x in values)])
    return markdown(["section", "who", *(_COLUMNS[x] for x in columns)],
                     lines)


def machine_text(machine: dict) -> str:
    parts = [machine["cpu"], f"{machine['cores']} cores",
             f"{machine['memory_gb']:.0f} GB", machine["system"],
             f"kernel {machine['kernel']}",
             f"fdatasync {machine['fdatasync_us']:.0f} µs",
             machine["postgresql"], machine["redis"],
             machine["node"] and f"Node.js {machine['node']}",
             f"SQLite {machine['sqlite']}", machine["compiler"],
             f"load {machine['load']:.1f} before the run"]
    return "; ".join(x for x in parts if x)
