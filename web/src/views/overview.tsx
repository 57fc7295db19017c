// views/overview.tsx -- how the node is doing, at a glance.
import { useComputed } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";

import { Chart } from "../chart";
import {
  count, duration, plural, rate, shortCount, shortDuration,
} from "../format";
import { lanes, pulse, samples, stats, types } from "../live";
import { useLoad } from "../load";
import { type ErrorGroup, type LiveStats, statuses } from "../model";
import { Link, query, setQuery } from "../router";
import { type Columns, columnsOf, latest, rateOf } from "../series";
import { Badge, Empty, Heading, Loading, statusWord, Text, Time } from "../ui";
import { laneTone, laneWord } from "./providers";

export function Overview(): JSX.Element {
  const type = query.value.get("type") ?? "";
  const columns = useComputed(() =>
    columnsOf(samples.value, query.value.get("type") ?? ""));
  const now = stats.value;
  if (!now)
    return <><Heading title="Overview" /><Loading /></>;
  return (
    <>
      <Heading title="Overview"
               lead={<>The queue, as node <Text value={now.node} /> sees it.</>}>
        <label class="inline">Type
          <select value={type} onChange={(event) =>
            setQuery({ type: event.currentTarget.value }, true)}>
            <option value="">All types</option>
            {typeNames(now).map((x) => <option key={x} value={x}>{x}</option>)}
          </select>
        </label>
      </Heading>
      <Tiles now={now} columns={columns.value} type={type} />
      <Charts columns={columns.value} />
      <div class="columns">
        <Queue now={now} />
        <Attention />
      </div>
    </>
  );
}

function typeNames(now: LiveStats): string[] {
  const names = new Set(Object.keys(now.by_type));
  for (const known of types.value ?? [])
    names.add(known.type);
  return [...names].sort();
}

// -- numbers ------------------------------------------------------------------

function Tiles(props: { now: LiveStats; columns: Columns; type: string }):
    JSX.Element {
  const { now, columns, type } = props;
  const counts = type ? now.by_type[type] ?? {} : now.jobs;
  const filter = (status: string) =>
    `/jobs?status=${status}${type ? `&type=${encodeURIComponent(type)}` : ""}`;
  const perMinute = (values: (number | null)[]) => {
    const value = latest(values);
    return value === null ? "no rate yet" : `${rate(value)} a minute`;
  };
  return (
    <dl class="tiles">
      <Tile name="Waiting" value={shortCount(counts.PENDING ?? 0)}
            href={filter("PENDING")}>
        {now.oldest_due_seconds === null ? "none is due"
          : `oldest due for ${duration(Math.floor(now.oldest_due_seconds))}`}
      </Tile>
      <Tile name="Running" value={shortCount(counts.PROCESSING ?? 0)}
            href={filter("PROCESSING")} tone="run">
        {latest(columns.added) === null ? "no rate yet"
          : `${rate(latest(columns.added)!)} added a minute`}
      </Tile>
      <Tile name="Completed" value={shortCount(counts.COMPLETED ?? 0)}
            href={filter("COMPLETED")} tone="ok">
        {perMinute(columns.completed)}
      </Tile>
      <Tile name="Failed" value={shortCount(counts.FAILED ?? 0)}
            href={filter("FAILED")} tone="bad">
        {perMinute(columns.failed)}
      </Tile>
      <Tile name="Cancelled" value={shortCount(counts.CANCELLED ?? 0)}
            href={filter("CANCELLED")}>
        {plural(Object.values(counts).reduce((a, b) => a + b, 0), "job")} in all
      </Tile>
    </dl>
  );
}

function Tile(props: {
  name: string; value: string; href: string; tone?: string;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`tile ${props.tone ?? ""}`}>
      <dt>{props.name}</dt>
      <dd><Link href={props.href} class={props.value === "0" ? "zero" : ""}
                label={`${props.name}: ${props.value} jobs`}>
        {props.value}</Link></dd>
      <dd class="quiet">{props.children}</dd>
    </div>
  );
}

function Charts(props: { columns: Columns }): JSX.Element {
  const { columns } = props;
  return (
    <section class="charts" aria-label="The last hour">
      <Chart title="Throughput" unit="jobs a minute" at={columns.at}
             format={(x) => rate(x)} lines={[
        { label: "Completed", colour: "--ok", values: columns.completed,
          filled: true },
        { label: "Added", colour: "--accent", values: columns.added },
        { label: "Failed", colour: "--bad", values: columns.failed },
      ]} />
      <Chart title="Queue" unit="jobs" at={columns.at} lines={[
        { label: "Waiting", colour: "--warn", values: columns.waiting,
          filled: true },
        { label: "Running", colour: "--run", values: columns.running },
      ]} />
      <Chart title="Oldest due job" unit="all types" at={columns.at}
             format={shortDuration} steps={durationSteps} lines={[
        { label: "Age", colour: "--warn",
          values: columns.oldestDue.map((x) => x ?? 0), filled: true },
      ]} />
    </section>
  );
}

// Where the axis of ages has its lines, in seconds.
const durationSteps = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400,
  43_200, 86_400, 172_800, 604_800,
];

// -- by type ------------------------------------------------------------------

function Queue(props: { now: LiveStats }): JSX.Element {
  const names = typeNames(props.now);
  const paused = new Set(
    (types.value ?? []).filter((x) => x.paused).map((x) => x.type));
  return (
    <section class="panel" aria-labelledby="by-type">
      <h2 id="by-type">By type and status</h2>
      <div class="scroll" role="region" aria-labelledby="by-type" tabIndex={0}>
        <table class="numbers">
          <thead>
            <tr>
              <th scope="col">Type</th>
              {statuses.map((x) => <th key={x} scope="col">{statusWord(x)}</th>)}
              <th scope="col">A minute</th>
            </tr>
          </thead>
          <tbody>
            {names.map((type) => (
              <tr key={type}>
                <th scope="row">
                  <Link href={`/jobs?type=${encodeURIComponent(type)}`}>
                    <Text value={type} /></Link>
                  {paused.has(type) && <> <Badge tone="paused">Paused</Badge></>}
                </th>
                {statuses.map((status) => {
                  const n = props.now.by_type[type]?.[status] ?? 0;
                  return (
                    <td key={status} class={n ? status.toLowerCase() : "zero"}>
                      {n ? <Link href={`/jobs?status=${status}&type=${
                        encodeURIComponent(type)}`}>{count(n)}</Link> : "0"}
                    </td>
                  );
                })}
                <td class="zero"><TypeRate type={type} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

function TypeRate(props: { type: string }): JSX.Element {
  const value = rateOf(samples.value, props.type);
  return <>{value === null ? "–" : rate(value)}</>;
}

// -- what an operator should look at ------------------------------------------

function Attention(): JSX.Element {
  const groups = useLoad<{ errors: ErrorGroup[] }>("/api/errors?limit=5", pulse);
  const paused = (types.value ?? []).filter((x) => x.paused);
  const closed = (lanes.value ?? []).filter((x) => x.state !== "open");
  const found = groups.data.value?.errors ?? [];
  return (
    <section class="panel" aria-labelledby="attention">
      <h2 id="attention">Needs attention</h2>
      {paused.length + closed.length + found.length === 0
        ? <Empty title="Nothing does">
            <p class="quiet">No failures, all types and providers open.</p>
          </Empty>
        : <ul class="rows">
            {closed.map((x) => (
              <li key={x.name}>
                <Badge tone={laneTone(x.state)}>{laneWord(x.state)}</Badge>
                <Link href="/providers"><Text value={x.name} /></Link>
                {x.reason && <p class="quiet clamp"><Text value={x.reason} /></p>}
              </li>
            ))}
            {paused.map((x) => (
              <li key={x.type}>
                <Badge tone="paused">Paused</Badge>
                <Link href="/types"><Text value={x.type} /></Link>
                {x.reason && <p class="quiet clamp"><Text value={x.reason} /></p>}
              </li>
            ))}
            {found.map((x) => (
              <li key={x.fingerprint}>
                <Badge tone="failed">{count(x.count)}</Badge>
                <Link href={`/failures?fingerprint=${x.fingerprint}`}>
                  <Text class="clamp" value={x.pattern} /></Link>
                <p class="quiet"><Time at={x.last_seen} /></p>
              </li>
            ))}
          </ul>}
    </section>
  );
}
