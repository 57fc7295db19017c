// views/actors.tsx -- the supervision tree, live.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { get, post } from "../api";
import { count, duration, shortCount, shortDuration } from "../format";
import type { Actor, Distribution } from "../model";
import { Link } from "../router";
import { follow } from "../stream";
import { treeOf } from "../tree";
import {
  Badge, Dialog, Empty, ErrorNote, Heading, Loading, tell, Text, Time,
} from "../ui";

const tones: Record<string, string> = {
  running: "processing", busy: "processing", idle: "completed",
  listening: "completed", open: "completed", connected: "completed",
  degraded: "failed", unresponsive: "failed", failed: "failed", away: "failed",
  broken: "failed", restarting: "warn", draining: "warn", parked: "pending",
  probing: "processing", paused: "paused",
};

export function Actors(): JSX.Element {
  const actors = useSignal<Actor[] | null>(null);
  const node = useSignal("");
  const error = useSignal<unknown>(null);
  const chosen = useSignal<string | null>(null);
  useEffect(() => {
    const take = (body: { node: string; actors: Actor[] }) => {
      actors.value = body.actors;
      node.value = body.node;
      error.value = null;
    };
    const load = () => get<{ node: string; actors: Actor[] }>("/api/actors")
      .then(take, (x: unknown) => { error.value = x; });
    void load();
    return follow("/api/actors/events", {
      onEvent(event) {
        if (event.name === "actors")
          take(JSON.parse(event.data) as { node: string; actors: Actor[] });
      },
      onState(state, failure) {
        if (state === "refused")
          error.value = failure;
      },
    });
  }, []);
  const list = actors.value;
  const shown = list?.find((x) => x.name === chosen.value);
  return (
    <>
      <Heading title="Actors" lead={list
        ? <>{list.length} in the supervision tree of <Text value={node.value} />.
            Choose one to see more.</>
        : "The supervision tree."} />
      {error.value !== null && <ErrorNote error={error.value} />}
      {!list ? error.value === null && <Loading />
        : list.length === 0 ? <Empty title="No actors" />
        : <Tree actors={list} onChoose={(name) => { chosen.value = name; }} />}
      {shown && <Details actor={shown}
                         onClose={() => { chosen.value = null; }} />}
    </>
  );
}

function Tree(props: { actors: Actor[]; onChoose(name: string): void }):
    JSX.Element {
  return (
    <div class="panel flush">
      <table class="actors" aria-label="Actors">
        <thead>
          <tr>
            <th scope="col">Actor</th>
            <th scope="col">State</th>
            <th scope="col" class="medium">Job</th>
            <th scope="col" class="number">Mailbox</th>
            <th scope="col" class="wide number">Messages</th>
            <th scope="col" class="wide number">Wait p95</th>
            <th scope="col" class="wide number">Handling p95</th>
            <th scope="col" class="medium number">Restarts</th>
            <th scope="col" class="wide number">Up</th>
          </tr>
        </thead>
        <tbody>
          {treeOf(props.actors).map(({ actor, depth }) => (
            <tr key={actor.name} class={actor.state === "unresponsive"
              || actor.state === "degraded" ? "alarm" : ""}>
              <th scope="row">
                <span class={`depth depth-${Math.min(depth, 4)}`}>
                  <button type="button" class="link"
                          onClick={() => props.onChoose(actor.name)}>
                    <Text value={actor.name} /></button>
                  {depth > 0 && <span class="offscreen">, child of{" "}
                    {actor.parent}</span>}
                </span>
              </th>
              <td><Badge tone={tones[actor.state] ?? "cancelled"}>
                {actor.state}</Badge></td>
              <td class="medium">{actor.job_id
                ? <Link href={`/jobs/${actor.job_id}`}>
                    <Text value={actor.job_type ?? actor.job_id.slice(-8)} /></Link>
                : <span class="quiet">–</span>}</td>
              <td class={`number ${actor.mailbox > 100 ? "bad" : ""}`}>
                {shortCount(actor.mailbox)}</td>
              <td class="wide number">{shortCount(actor.messages)}</td>
              <td class="wide number">{seconds(actor.wait_seconds?.p95)}</td>
              <td class="wide number">{seconds(actor.handling_seconds?.p95)}</td>
              <td class={`medium number ${actor.restarts ? "warn" : "zero"}`}>
                {actor.restarts}</td>
              <td class="wide number">{shortDuration(actor.uptime_seconds)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function seconds(x: number | null | undefined): string {
  if (x === null || x === undefined)
    return "–";
  return x < 0.001 ? `${Math.round(x * 1e6)} µs`
    : x < 1 ? `${(x * 1000).toFixed(x < 0.01 ? 1 : 0)} ms` : duration(x);
}

// -- one actor ----------------------------------------------------------------

// What the node refuses to restart without restarting itself.
const ownedByNode = new Set(["supervisor", "db", "gateway"]);

// Only the supervisor's own children have a budget: executors do not.
function canRestart(actor: Actor): boolean {
  return actor.restart_budget !== null && !ownedByNode.has(actor.name);
}

function Details(props: { actor: Actor; onClose(): void }): JSX.Element {
  const { actor } = props;
  const error = useSignal<unknown>(null);
  const busy = useSignal(false);
  const restart = async () => {
    if (busy.value)
      return;
    busy.value = true;
    error.value = null;
    try {
      await post(`/api/actors/${encodeURIComponent(actor.name)}/restart`);
      tell(`${actor.name} starts anew`);
      props.onClose();
    } catch (failure) {
      busy.value = false;
      error.value = failure;
    }
  };
  const times: [string, Distribution | null | undefined][] = [
    ["Wait", actor.wait_seconds], ["Handling", actor.handling_seconds],
    ["Commit", actor.commits?.seconds],
  ];
  const known = times.filter(([, x]) => x && x.count > 0) as
    [string, Distribution][];
  return (
    <Dialog title={actor.name} onClose={props.onClose}>
      <p><Badge tone={tones[actor.state] ?? "cancelled"}>{actor.state}</Badge>
        {" "}up for {duration(Math.floor(actor.uptime_seconds))}
        {actor.parent && <>, under {actor.parent}</>}</p>
      {actor.last_error && <pre class="error-text" tabIndex={0}
        aria-label="Last error"><Text value={actor.last_error} /></pre>}
      <dl class="facts compact">
        <div><dt>Mailbox</dt><dd>{count(actor.mailbox)}</dd></div>
        <div><dt>Messages</dt><dd>{count(actor.messages)}</dd></div>
        {Object.entries(actor.counts ?? {}).map(([name, n]) => (
          <div key={name}><dt>{name.replace(/_/g, " ")}</dt>
            <dd>{count(n)}</dd></div>
        ))}
        {actor.job_id && <div><dt>Job</dt>
          <dd><Link href={`/jobs/${actor.job_id}`}>{actor.job_type ?? "job"}</Link>
            {actor.job_since && <>, <Time at={actor.job_since} /></>}</dd></div>}
        {actor.commits && <div><dt>Batch p50, p99</dt><dd>{
          whole(actor.commits.batch.p50)}, {whole(actor.commits.batch.p99)}
        </dd></div>}
        {actor.restart_budget && <div><dt>Restarts left</dt><dd>{
          actor.restart_budget.left} of {actor.restart_budget.of} in {
          duration(actor.restart_budget.window_seconds)}</dd></div>}
      </dl>
      {known.length > 0 && (
        <table class="numbers" aria-label="Times">
          <thead><tr><th scope="col">Time</th><th scope="col">p50</th>
            <th scope="col">p95</th><th scope="col">p99</th></tr></thead>
          <tbody>
            {known.map(([name, x]) => (
              <tr key={name}><th scope="row">{name}</th><td>{seconds(x.p50)}</td>
                <td>{seconds(x.p95)}</td><td>{seconds(x.p99)}</td></tr>
            ))}
          </tbody>
        </table>
      )}
      {(actor.restart_history ?? []).length > 0 && (
        <>
          <h3>Restarts</h3>
          <ul class="rows">
            {[...actor.restart_history].reverse().map((x) => (
              <li key={x.at}><Time at={x.at} /> by {x.by}
                {x.reason && <p class="quiet"><Text value={x.reason} /></p>}</li>
            ))}
          </ul>
        </>
      )}
      {ownedByNode.has(actor.name)
        && <p class="quiet">It starts anew with its node only.</p>}
      {error.value !== null && <ErrorNote error={error.value} />}
      <div class="buttons">
        <button type="button" onClick={props.onClose}>Close</button>
        {canRestart(actor)
          && <button type="button" class="danger" aria-disabled={busy.value}
                     onClick={() => void restart()}>Restart it</button>}
      </div>
    </Dialog>
  );
}

function whole(x: number | null): string {
  return x === null ? "–" : count(x);
}
