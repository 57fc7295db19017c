#!/usr/bin/env python3
"""The same two steps in SQLite: floor-sqlite.py [runs] [jobs] [FULL,NORMAL]. One JSON line per measurement."""
import json, os, resource, shutil, sqlite3, sys, tempfile, time, uuid

runs = int(sys.argv[1]) if len(sys.argv) > 1 else 3
jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 200000
modes = sys.argv[3].split(",") if len(sys.argv) > 3 else ("FULL", "NORMAL")
BATCH = 500
CLAIM = """update jobs set status = 'PROCESSING', attempts = attempts + 1, updated_at = ?
  where id in (select id from jobs where status = 'PENDING' and job_type = 'bench'
               order by created_at limit ?) returning id, payload"""


def cpu():
    u = resource.getrusage(resource.RUSAGE_SELF)
    return u.ru_utime + u.ru_stime


def emit(measure, run, sync, n, t0, c0, **extra):
    s = time.monotonic() - t0
    print(json.dumps({"peer": "floor-sqlite", "version": sqlite3.sqlite_version, "measure": measure, "config": sync, "run": run,
                      "jobs": n, **extra, "seconds": round(s, 2), "jobs_per_s": round(n / s),
                      "server_cpu_s_per_10k": round((cpu() - c0) / n * 1e4, 2)}), flush=True)


def new(path):
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    db = sqlite3.connect(os.path.join(path, "jobs.db"), isolation_level=None)
    db.execute("pragma journal_mode = wal")
    db.execute(f"pragma synchronous = {sync}")
    db.execute("""create table jobs (id text primary key, job_type text not null, status text not null, target_id text,
                  payload text, attempts int not null default 0, created_at real not null, updated_at real not null) without rowid""")
    db.execute("create index jobs_ready on jobs (status, job_type, created_at)")
    return db


def row(n):
    i = str(uuid.uuid4())
    return (i, i, json.dumps({"id": n, "target": i}), time.time(), time.time())


def insert(db, n, batch):
    for a in range(0, n, batch):
        rows = [row(k) for k in range(a, a + batch)]
        db.execute("begin immediate")
        db.executemany("insert into jobs (id, job_type, status, target_id, payload, created_at, updated_at)"
                       " values (?, 'bench', 'PENDING', ?, ?, ?, ?)", rows)
        db.execute("commit")


def move(db, n):
    marks = ",".join("?" * BATCH)
    done = 0
    while done < n:
        got = db.execute(CLAIM, (time.time(), BATCH)).fetchall()
        if not got:
            break
        db.execute(f"update jobs set status = 'COMPLETED', updated_at = ? where id in ({marks})",
                   [time.time(), *(g[0] for g in got)])
        done += len(got)
    return done


with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DATA")) as tmp:
    for run in range(1, runs + 1):
        for sync in modes:
            path = os.path.join(tmp, "db")
            db = new(path); t, c = time.monotonic(), cpu(); insert(db, 5000, 1)
            emit("insert-1-sequential", run, sync, 5000, t, c, batch=1); db.close()
            db = new(path); t, c = time.monotonic(), cpu(); insert(db, jobs, 1000)
            emit("insert-batch", run, sync, jobs, t, c, batch=1000)
            db.execute("pragma wal_checkpoint(truncate)"); db.execute("analyze")
            t, c = time.monotonic(), cpu(); done = move(db, jobs)
            emit("claim-then-finish", run, sync, done, t, c, batch=BATCH); db.close()
