// What a plain jobs table on the same PostgreSQL can do, with one connection and
// nothing but SQL: node floor-pg.mjs [--jobs=200000] [--runs=3]. One JSON line per measurement.
import { readFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { emit, need, now, parentOf, treeCpu } from './lib.mjs';

const { values: opt } = parseArgs({
  options: {
    jobs: { type: 'string', default: '200000' }, runs: { type: 'string', default: '3' },
    depth: { type: 'string', default: '0' }, history: { type: 'string', default: '0' },
    only: { type: 'string', default: '' }, batches: { type: 'string', default: '100,500,1000' },
  },
});
const jobs = +opt.jobs;
const schema = readFileSync(new URL('./floor/schema.sql', import.meta.url), 'utf8');
const db = new pg.Client({ connectionString: need('BENCH_PG_URL') });
await db.connect();
await db.query("set client_min_messages = 'warning'");
const server = parentOf((await db.query('select pg_backend_pid() as pid')).rows[0].pid);

const ids = (n) => Array.from({ length: n }, randomUUID);
const bodies = (list) => list.map((id, n) => JSON.stringify({ id: n, target: id }));
const prepared = (name, text) => (values) => db.query({ name, text, values });

const insert = prepared('insert',
  `insert into floor_jobs (id, job_type, status, target_id, payload)
   select i, 'bench', 'PENDING', i::text, p from unnest($1::uuid[], $2::jsonb[]) as u(i, p)`);
const claim = prepared('claim',
  `update floor_jobs set status = 'PROCESSING', attempts = attempts + 1, updated_at = now()
    where id in (select id from floor_jobs where status = 'PENDING' and job_type = 'bench'
                  order by created_at limit $1 for update skip locked)
    returning id, payload`);
const finish = prepared('finish', "update floor_jobs set status = 'COMPLETED', updated_at = now() where id = any($1::uuid[])");

// One statement, rows made on the server, to leave the client's share out.
const bulk = (n, status) => db.query(
  `insert into floor_jobs (id, job_type, status, target_id, payload, created_at)
   select i, 'bench', '${status}', i::text, jsonb_build_object('id', g, 'target', i), now() - interval '1 day'
     from (select g, gen_random_uuid() as i from generate_series(1, ${n}) g) s`);

async function timed(measure, run, work, extra = {}) {
  const [cpu0, t0] = [treeCpu(server), now()];
  const done = await work();
  const seconds = (now() - t0) / 1000;
  emit({
    peer: 'floor-pg', measure, run, jobs: done, ...extra, seconds: Math.round(seconds * 100) / 100,
    jobs_per_s: Math.round(done / seconds), server_cpu_s_per_10k: Math.round((treeCpu(server) - cpu0) / done * 1e6) / 100,
  });
}

async function insertBatches(batch, total = jobs) {
  for (let n = 0; n < total; n += batch) { const list = ids(batch); await insert([list, bodies(list)]); }
  return total;
}

async function moveAll(batch, total = jobs) {
  let done = 0;
  while (done < total) {
    const { rows } = await claim([batch]);
    if (!rows.length) break;
    await finish([rows.map((r) => r.id)]);
    done += rows.length;
  }
  return done;
}

const fresh = async () => { await db.query(schema); };
const settle = async () => { await db.query('vacuum analyze floor_jobs'); await db.query('checkpoint'); };

for (let run = 1; run <= +opt.runs; run++) {
  if (!opt.only || opt.only === 'insert') {
    await fresh(); await settle();
    await timed('insert-1-sequential', run, () => insertBatches(1, 5000), { batch: 1 });
    await fresh(); await settle();
    await timed('insert-batch', run, () => insertBatches(1000), { batch: 1000 });
  }
  for (const batch of opt.batches.split(',').map(Number)) {
    if (opt.only && opt.only !== 'move') continue;
    await fresh();
    if (+opt.history) await bulk(+opt.history, 'COMPLETED');
    if (+opt.depth) await bulk(+opt.depth, 'PENDING');
    await insertBatches(1000);
    await settle();
    await timed('claim-then-finish', run, () => moveAll(batch), { batch, history: +opt.history, depth: +opt.depth });
  }
}
await db.end();
