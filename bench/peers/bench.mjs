// node bench.mjs PEER MEASURE [--config=fast] [--runs=3] [--jobs=50000] ...
// Prints one JSON line per counted run. See README.md.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { emit, machineCpu, now, payload, percentiles, rssMb, sleep, treeCpu } from './lib.mjs';

const { values: opt, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    config: { type: 'string', default: 'fast' },
    runs: { type: 'string', default: '3' },
    jobs: { type: 'string', default: '50000' },
    concurrency: { type: 'string', default: '64' },
    batch: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '500' },
    seconds: { type: 'string', default: '10' },
    depth: { type: 'string', default: '0' }, // pending rows beyond --jobs
    history: { type: 'string', default: '0' }, // completed rows present before
    'max-seconds': { type: 'string', default: '40' },
    'max-other': { type: 'string', default: '25' }, // percent of a core that others may use
    retries: { type: 'string', default: '6' },
    'quiet-seconds': { type: 'string', default: '120' }, // wait so long at most for an idle machine
  },
});
const [peer, measure] = positionals;
const num = (name) => Number(opt[name]);
const adapter = await import(`./peers/${peer}.mjs`);
const version = JSON.parse(readFileSync(new URL(`./node_modules/${adapter.pkg}/package.json`, import.meta.url))).version;
const label = adapter.label?.() ?? peer;
const round = (x, d = 1) => Math.round(x * 10 ** d) / 10 ** d;

class Child {
  constructor(config) {
    this.started = now();
    this.seen = new Map();
    this.proc = fork(fileURLToPath(new URL('./worker.mjs', import.meta.url)), [peer, config]);
    this.proc.on('message', (m) => {
      if (m.type === 'done') return this.onDone?.(m);
      const waiting = this.seen.get(m.type);
      if (typeof waiting === 'function') { this.seen.delete(m.type); waiting(m); } else this.seen.set(m.type, m);
    });
  }
  got(type) {
    const m = this.seen.get(type);
    if (m && typeof m !== 'function') { this.seen.delete(type); return Promise.resolve(m); }
    return new Promise((done) => this.seen.set(type, done));
  }
  send(type, extra = {}) { this.proc.send({ type, ...extra }); }
  async report() { this.send('report'); return this.got('report'); }
  async stop() { this.send('stop'); await once(this.proc, 'exit'); }
}

async function fill(producer, jobs, batch = 1000) {
  for (let i = 0; i < jobs; i += batch) {
    await producer.addBulk(Array.from({ length: Math.min(batch, jobs - i) }, (_, k) => payload(i + k)));
  }
}

async function drain(server, run) {
  const jobs = num('jobs');
  const producer = await adapter.producer(opt.config);
  if (num('history')) await server.addHistory(num('history'));
  await fill(producer, jobs + num('depth'));
  await producer.close();
  await server.settle();
  const pid = await server.serverPid();
  const child = new Child(opt.config);
  await child.got('loaded');
  const cpu0 = treeCpu(pid);
  const t0 = now();
  child.send('go', { target: jobs });
  const reached = await Promise.race([child.got('reached'), sleep(num('max-seconds') * 1000)]);
  let done = jobs;
  let end;
  if (!reached) {
    const r = await child.report();
    [done, end] = [r.count, r.t];
  } else if (num('depth')) {
    end = reached.t; // the rest stays queued: the time the last of --jobs was handed to the handler
  } else {
    while (!(await server.drained())) await sleep(2);
    end = now();
  }
  const cpu = treeCpu(pid) - cpu0;
  const r = await child.report();
  const size = await server.sizeMb();
  await child.stop();
  const seconds = (end - t0) / 1000;
  return {
    peer: label, version, measure, config: opt.config, run, jobs: done, partial: !reached,
    depth: num('depth'), history: num('history'), seconds: round(seconds, 2), jobs_per_s: Math.round(done / seconds),
    worker_cpu_s_per_10k: round(r.cpu / r.count * 1e4, 2), server_cpu_s_per_10k: round(cpu / r.count * 1e4, 2),
    worker_peak_rss_mb: r.peak, server_rss_mb: rssMb(pid), store_mb: size,
  };
}

async function enqueueSingle(server, run) {
  const producer = await adapter.producer(opt.config);
  const pid = await server.serverPid();
  const jobs = num('jobs');
  let next = 0;
  const lane = async () => { while (next < jobs) await producer.add(payload(next++)); };
  const [cpu0, own0, t0] = [treeCpu(pid), process.cpuUsage(), now()];
  await Promise.all(Array.from({ length: num('concurrency') }, lane));
  const seconds = (now() - t0) / 1000;
  const own = process.cpuUsage(own0);
  await producer.close();
  return {
    peer: label, version, measure, config: opt.config, run, jobs, concurrency: num('concurrency'), seconds: round(seconds, 2),
    jobs_per_s: Math.round(jobs / seconds), client_cpu_s_per_10k: round((own.user + own.system) / 1e6 / jobs * 1e4, 2),
    server_cpu_s_per_10k: round((treeCpu(pid) - cpu0) / jobs * 1e4, 2),
  };
}

async function enqueueBulk(server, run) {
  const producer = await adapter.producer(opt.config);
  const pid = await server.serverPid();
  const jobs = num('jobs');
  const [cpu0, t0] = [treeCpu(pid), now()];
  await fill(producer, jobs, num('batch'));
  const seconds = (now() - t0) / 1000;
  await producer.close();
  return {
    peer: label, version, measure, config: opt.config, run, jobs, batch: num('batch'), seconds: round(seconds, 2), jobs_per_s: Math.round(jobs / seconds),
    server_cpu_s_per_10k: round((treeCpu(pid) - cpu0) / jobs * 1e4, 2), store_mb: await server.sizeMb(),
  };
}

async function latencyIdle(server, run) {
  const producer = await adapter.producer(opt.config);
  const child = new Child(opt.config);
  child.send('go', { echo: true });
  await child.got('running');
  const one = async (id) => {
    const seen = new Promise((done) => { child.onDone = (m) => m.id === id && done(); });
    await producer.add({ ...payload(id), t: now() });
    await seen;
    await sleep(10); // let the worker finish the job and go idle again
  };
  await sleep(1000);
  const end = now() + num('max-seconds') * 1000;
  for (let i = 1; i <= num('jobs') && now() < end; i++) await one(i);
  const r = await child.report();
  await child.stop();
  await producer.close();
  return { peer: label, version, measure, config: opt.config, run, ...percentiles(r.latencies) };
}

async function latencyLoad(server, run) {
  const producer = await adapter.producer(opt.config);
  const child = new Child(opt.config);
  child.send('go');
  await child.got('running');
  await sleep(1000);
  const total = num('rate') * num('seconds');
  const pid = await server.serverPid();
  const [cpu0, w0] = [treeCpu(pid), (await child.report()).cpu];
  const t0 = now();
  const pending = new Set();
  let failed = 0; // calls that the library gave up, such as for want of a connection
  for (let i = 0; i < total;) {
    const due = Math.min(total, Math.floor((now() - t0) / 1000 * num('rate')) + 1);
    for (; i < due; i++) {
      const p = producer.add({ ...payload(i + 1), t: now() }).catch(() => { failed += 1; }).finally(() => pending.delete(p));
      pending.add(p);
    }
    await sleep(1);
  }
  await Promise.all(pending);
  const giveUp = now() + num('max-seconds') * 1000;
  let r;
  do { await sleep(100); r = await child.report(); } while (r.count < total - failed && now() < giveUp);
  const cpu = treeCpu(pid) - cpu0;
  await child.stop();
  await producer.close();
  return {
    peer: label, version, measure, config: opt.config, run, rate: num('rate'), sent: total, failed, ...percentiles(r.latencies),
    worker_cpu_s_per_10k: round((r.cpu - w0) / r.count * 1e4, 2), server_cpu_s_per_10k: round(cpu / r.count * 1e4, 2),
  };
}

// Fresh process to first job, then what it weighs and burns with nothing to do.
async function startup(server, run) {
  const producer = await adapter.producer(opt.config);
  await producer.addBulk([payload(1)]);
  const pid = await server.serverPid();
  const child = new Child(opt.config);
  child.send('go');
  const first = await child.got('first');
  await sleep(5000);
  const [a, cpu0] = [await child.report(), treeCpu(pid)];
  await sleep(5000);
  const b = await child.report();
  const cpu = treeCpu(pid) - cpu0;
  await child.stop();
  await producer.close();
  return {
    peer: label, version, measure, config: opt.config, run, first_job_ms: Math.round(first.t - child.started),
    idle_rss_mb: b.rss, idle_worker_cpu_ms_per_s: round((b.cpu - a.cpu) * 200, 2), idle_server_cpu_ms_per_s: round(cpu * 200, 2),
  };
}

const measures = {
  drain, 'enqueue-single': enqueueSingle, 'enqueue-bulk': enqueueBulk,
  'latency-idle': latencyIdle, 'latency-load': latencyLoad, startup,
};
if (!measures[measure]) throw new Error(`measure: one of ${Object.keys(measures).join(', ')}`);
// How much of the machine others used meanwhile, in percent of one core.
function watch(pid) {
  const snap = () => [machineCpu() - treeCpu(pid) - treeCpu(process.pid), now() / 1000];
  const [cpu0, t0] = snap();
  return () => { const [cpu, t] = snap(); return Math.max(0, Math.round((cpu - cpu0) / (t - t0) * 100)); };
}

// Wait until the machine is about idle.
async function quiet() {
  for (let i = 0; i < num('quiet-seconds'); i++) {
    const cpu = machineCpu();
    await sleep(1000);
    if (machineCpu() - cpu < 0.15) return;
  }
}

for (let run = 1, tries = 0; run <= num('runs'); run++) {
  const server = adapter.server();
  await server.reset();
  await quiet();
  const others = watch(await server.serverPid());
  const row = await measures[measure](server, run);
  await server.end();
  row.other_cpu_pct = others();
  if (row.other_cpu_pct > num('max-other') && ++tries <= num('retries')) { // disturbed: try that run again
    console.error(`run ${run} of ${label} ${measure} repeated: others used ${row.other_cpu_pct} % of a core`);
    run -= 1;
  } else emit(row);
}
process.exit(0);
