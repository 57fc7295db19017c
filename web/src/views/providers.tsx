// views/providers.tsx -- the gates to the AI providers: who may call, and what
// keeps them.
import { useComputed } from "@preact/signals";
import type { JSX } from "preact";

import { now, post } from "../api";
import { count, duration } from "../format";
import { lanes, lanesAt, refusal } from "../live";
import type { Lane, RateLimit } from "../model";
import {
  Action, Badge, Bar, Empty, ErrorNote, Heading, Loading, Text,
} from "../ui";

const tones: Record<string, string> = {
  open: "completed", parked: "pending", broken: "failed", probing: "processing",
  paused: "paused",
};
const words: Record<string, string> = {
  open: "Open", parked: "Parked", broken: "Breaker open", probing: "Probing",
  paused: "Paused",
};

export function laneTone(state: string): string {
  return tones[state] ?? "warn";
}

export function laneWord(state: string): string {
  return words[state] ?? state;
}

export function Providers(): JSX.Element {
  const list = lanes.value;
  return (
    <>
      <Heading title="Providers"
               lead="One gate for each provider and model. Trouble of one is one
                 gate's, and costs no job an attempt." />
      {refusal.value !== null && <ErrorNote error={refusal.value} />}
      {!list ? refusal.value === null && <Loading />
        : list.length === 0
          ? <Empty title="No gates">
              <p class="quiet">This node calls no providers: what it needs is
                built in.</p>
            </Empty>
          : <ul class="cards-grid">
              {list.map((x) => <LaneCard key={x.name} lane={x} />)}
            </ul>}
    </>
  );
}

function LaneCard(props: { lane: Lane }): JSX.Element {
  const { lane } = props;
  const resume = async () => {
    await post(`/api/providers/${encodeURIComponent(lane.name)}/resume`);
    return `${lane.name} is open again`;
  };
  const limits: [string, RateLimit | null][] = [
    ["Requests", lane.limits.requests],
    ["Input tokens", lane.limits.input_tokens],
    ["Output tokens", lane.limits.output_tokens],
  ];
  return (
    <li class="panel lane-card">
      <div class="card-head">
        <h2><Text value={lane.name} /></h2>
        <Badge tone={laneTone(lane.state)}>{laneWord(lane.state)}</Badge>
      </div>
      {lane.reason && <p class="lane-reason"><Text value={lane.reason} /></p>}
      {lane.opens_in_seconds !== null && lane.state !== "open"
        && <Countdown seconds={lane.opens_in_seconds} />}
      <div class="meter">
        <span>In flight</span>
        <Bar percent={lane.concurrency ? lane.in_flight / lane.concurrency * 100
          : 0} label={`In flight: ${lane.in_flight} of ${lane.concurrency}`} />
        <span class="number">{lane.in_flight} of {lane.concurrency}</span>
      </div>
      {limits.map(([name, x]) => x && x.limit > 0 && (
        <div class="meter" key={name}>
          <span>{name} left</span>
          <Bar percent={x.remaining / x.limit * 100} tone="left"
               label={`${name} left: ${x.remaining} of ${x.limit}`} />
          <span class="number">{count(x.remaining)} of {count(x.limit)}</span>
        </div>
      ))}
      <dl class="facts compact">
        <div><dt>Waiting</dt><dd>{count(lane.waiting)}</dd></div>
        <div><dt>Calls</dt><dd>{count(lane.calls)}</dd></div>
        <div><dt>Outages in a row</dt><dd>{lane.outages}</dd></div>
      </dl>
      {lane.state === "paused" && (
        <div class="buttons">
          <Action class="primary" run={resume} label={`Resume ${lane.name}`}>
            Resume</Action>
        </div>
      )}
    </li>
  );
}

function Countdown(props: { seconds: number }): JSX.Element {
  const told = lanesAt.value;
  const left = useComputed(() => {
    const passed = (now.value - lanesAt.value) / 1000;
    return duration(Math.max(0, Math.ceil(props.seconds - passed)));
  });
  return <p class="quiet" key={told}>Opens in {left}</p>;
}
