// views/job.tsx -- one job: what it is, how far it is, and all its history.
import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect } from "preact/hooks";

import { get, messageOf, now, post } from "../api";
import { count, duration, plural } from "../format";
import { pulse } from "../live";
import { useLoad } from "../load";
import {
  type Attempt, type Explanation, isFinal, type Job, type Json, type Step,
  type Usage,
} from "../model";
import { Link } from "../router";
import { follow, type StreamState } from "../stream";
import {
  Action, Badge, Bar, Dialog, ErrorNote, Heading, Id, JsonBlock,
  Loading, StatusBadge, tell, Text, Time,
} from "../ui";

export function JobView(props: { id: string }): JSX.Element {
  return <Shown key={props.id} id={props.id} />;
}

function Shown(props: { id: string }): JSX.Element {
  const path = `/api/jobs/${encodeURIComponent(props.id)}`;
  const job = useSignal<Job | null>(null);
  const error = useSignal<unknown>(null);
  const state = useSignal<StreamState>("connecting");
  /// Grows when a finished job has to be followed again.
  const round = useSignal(0);

  useEffect(() => follow(`${path}/events`, {
    onEvent(event) {
      if (event.name === "job")
        show(job, JSON.parse(event.data) as Job);
    },
    onState(next, failure) {
      state.value = next;
      error.value = failure ?? null;
    },
  }), [round.value]);

  // The stream of a finished job is over, but somebody may retry it.
  useSignalEffect(() => {
    void pulse.value;
    const known = job.peek();
    if (known && isFinal(known.status))
      void get<Job>(path).then((found) => {
        if (!show(job, found))
          return;
        if (!isFinal(found.status))
          round.value += 1;
      }, () => {});
  });

  const current = job.value;
  if (!current)
    return (
      <>
        <Heading title="Job" />
        {error.value !== null ? <ErrorNote error={error.value} /> : <Loading />}
      </>
    );
  const took = (next: Job) => {
    show(job, next);
    round.value += 1;
  };
  return (
    <>
      <Header job={current} path={path} onChange={took} />
      <State job={current} path={path} away={state.value === "away"} />
      <div class="columns">
        <Facts job={current} />
        <div>
          <Block title="Payload" value={current.payload} />
          {current.result !== null
            && <Block title="Result" value={current.result} />}
        </div>
      </div>
      <Attempts path={path} job={current} />
      <Steps path={path} job={current} />
    </>
  );
}

// Versions only grow: an older state never takes a newer one's place.
function show(job: { value: Job | null; peek(): Job | null }, next: Job):
    boolean {
  const known = job.peek();
  if (known && next.version <= known.version)
    return false;
  job.value = next;
  return true;
}

// -- head ---------------------------------------------------------------------

function Header(props: { job: Job; path: string; onChange(job: Job): void }):
    JSX.Element {
  const { job, path } = props;
  const asking = useSignal(false);
  const cancel = async () => {
    asking.value = false;
    try {
      props.onChange(await post<Job>(`${path}/cancel`));
      tell(job.status === "PROCESSING" ? "It is being cancelled"
        : "The job is cancelled");
    } catch (error) {
      tell(messageOf(error), "failed");
    }
  };
  const retry = async () => {
    props.onChange(await post<Job>(`${path}/retry`));
    return "The job runs again";
  };
  return (
    <Heading title={job.type} lead={<>
      <Link href="/jobs">Jobs</Link> / <Id id={job.id} whole /></>}>
      {(job.status === "FAILED" || job.status === "CANCELLED")
        && <Action class="primary" run={retry}>Retry</Action>}
      {!isFinal(job.status)
        && <button type="button" class="danger"
                   disabled={job.cancel_requested}
                   onClick={() => { asking.value = true; }}>
             {job.cancel_requested ? "Being cancelled" : "Cancel"}</button>}
      {asking.value && (
        <Dialog title="Cancel this job?"
                onClose={() => { asking.value = false; }}>
          <p>{job.status === "PROCESSING"
            ? "It is running. What it has done outside the database stays."
            : "It will not run. It can be retried later."}</p>
          <div class="buttons">
            <button type="button"
                    onClick={() => { asking.value = false; }}>Keep it</button>
            <button type="button" class="danger"
                    onClick={() => void cancel()}>Cancel the job</button>
          </div>
        </Dialog>
      )}
    </Heading>
  );
}

function State(props: { job: Job; path: string; away: boolean }): JSX.Element {
  const { job } = props;
  return (
    <section class="panel state" aria-label="State">
      <div class="state-line">
        <StatusBadge status={job.status} />
        {job.cancel_requested && <Badge tone="warn">Cancel requested</Badge>}
        <span class="quiet" aria-live="off">{running(job)}</span>
        {props.away && <Badge tone="warn">Reconnecting</Badge>}
      </div>
      {job.status === "PROCESSING" && (
        <div class="progress">
          <Bar percent={job.progress.percent} label="Progress" />
          <span class="progress-text">
            <b>{job.progress.percent} %</b>{" "}
            <Text value={job.progress.message} />
          </span>
        </div>
      )}
      {job.error_message && (
        <pre class="error-text" tabIndex={0} aria-label="Error message"><Text
          value={job.error_message} /></pre>
      )}
      {!isFinal(job.status) && <Explain path={props.path} job={job} />}
    </section>
  );
}

function running(job: Job): JSX.Element | null {
  if (job.status === "PROCESSING" && job.started_at)
    return <Since at={job.started_at} />;
  if (job.status === "COMPLETED" && job.started_at && job.finished_at)
    return <>took {duration((Date.parse(job.finished_at)
      - Date.parse(job.started_at)) / 1000)}</>;
  return null;
}

function Since(props: { at: string }): JSX.Element {
  const text = useComputed(() => duration(Math.max(
    0, Math.floor((now.value - Date.parse(props.at)) / 1000))));
  return <>running for {text}</>;
}

function Explain(props: { path: string; job: Job }): JSX.Element | null {
  const why = useLoad<Explanation>(`${props.path}/explain`, pulse, true);
  useEffect(() => why.reload(), [props.job.version]);
  const found = why.data.value;
  if (!found || found.code === "running")
    return null;
  return (
    <div class="explain">
      <p><b>Why it waits:</b> <Text value={found.text} /></p>
      <p class="quiet">
        {found.queue_position !== null
          && <span>Place {count(found.queue_position)} in the queue. </span>}
        {found.until !== null && <span>Changes <Time at={found.until} />. </span>}
        {found.blocking_job !== null
          && <Link href={`/jobs/${found.blocking_job}`}>The job in the way</Link>}
      </p>
    </div>
  );
}

// -- facts --------------------------------------------------------------------

// Texts that may take a line of their own.
const long = new Set(["Target", "User", "Unique key", "Trace", "Waits for"]);

function Facts(props: { job: Job }): JSX.Element {
  const { job } = props;
  const unspent = Object.entries(job.unspent).filter(([, n]) => n > 0);
  const facts: [string, ComponentChildren][] = [
    ["Target", <TargetLink job={job} />],
    ["Attempts", `${job.attempts} of ${job.max_attempts}`],
    ["Priority", job.priority],
    ["Created", <Time at={job.created_at} />],
    ["Due", <Time at={job.run_at} />],
    ["Started", <Time at={job.started_at} />],
    ["Finished", <Time at={job.finished_at} />],
    ["Version", job.version],
  ];
  if (job.user_id !== null)
    facts.splice(1, 0, ["User", <Link
      href={`/jobs?user_id=${encodeURIComponent(job.user_id)}`}>
      <Text value={job.user_id} /></Link>]);
  if (job.unique_key !== null)
    facts.push(["Unique key", <Text value={job.unique_key} />]);
  const trace = job.traceparent?.split("-")[1];
  if (trace)
    facts.push(["Trace", <Id id={trace} whole />]);
  if (job.reason)
    facts.push(["Waits for", <Text value={job.reason} />]);
  if (unspent.length > 0)
    facts.push(["Not its fault", unspent.map(([name, n]) =>
      `${name.replace("_", " ")} ${n}`).join(", ")]);
  facts.push(["Usage", usageText(job.usage)]);
  return (
    <section class="panel" aria-labelledby="facts">
      <h2 id="facts">Facts</h2>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name} class={long.has(name) ? "long" : ""}>
            <dt>{name}</dt><dd>{value}</dd></div>
        ))}
      </dl>
    </section>
  );
}

function TargetLink(props: { job: Job }): JSX.Element {
  const { job } = props;
  const card = textMember(job.result, "card_id");
  if (job.type === "BOOK_GENERATION" || job.type === "IMAGE_REGEN")
    return <Link href={`/books/${job.target_id}`}>Book <Text
      value={job.target_id} /></Link>;
  if (card)
    return <><Text value={job.target_id} />{" "}
      (<Link href={`/cards/${card}`}>card</Link>)</>;
  return <Link href={`/jobs?target_id=${encodeURIComponent(job.target_id)}`}>
    <Text value={job.target_id} /></Link>;
}

function textMember(value: Json, name: string): string | null {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    return null;
  const member = value[name];
  return typeof member === "string" ? member : null;
}

export function usageText(usage: Usage): string {
  const parts: string[] = [];
  if (usage.input_tokens || usage.output_tokens)
    parts.push(`${count(usage.input_tokens)} tokens in, `
      + `${count(usage.output_tokens)} out`);
  if (usage.images)
    parts.push(plural(usage.images, "image"));
  return parts.join(", ") || "none";
}

function Block(props: { title: string; value: Json }): JSX.Element {
  const empty = props.value === null || (typeof props.value === "object"
    && Object.keys(props.value).length === 0);
  return (
    <section class="panel" aria-label={props.title}>
      <h2>{props.title}</h2>
      {empty ? <p class="quiet">None</p>
        : <JsonBlock value={props.value} label={props.title} />}
    </section>
  );
}

// -- history ------------------------------------------------------------------

const outcomeTones: Record<string, string> = {
  completed: "completed", failed: "failed", failed_permanently: "failed",
  timed_out: "failed", lost: "failed",
  cancelled: "cancelled", snoozed: "pending",
};

function Attempts(props: { path: string; job: Job }): JSX.Element {
  const list = useLoad<{ attempts: Attempt[] }>(`${props.path}/attempts`,
                                                undefined, true);
  useEffect(() => list.reload(), [props.job.version]);
  const found = list.data.value?.attempts;
  return (
    <section class="panel" aria-labelledby="attempts">
      <h2 id="attempts">Attempts</h2>
      {list.error.value !== null && <ErrorNote error={list.error.value} />}
      {found && found.length === 0 && (
        <p class="quiet">{props.job.status === "COMPLETED"
          ? "It worked at once: no run failed."
          : "No run has ended without success so far."}</p>
      )}
      {found && found.length > 0 && (
        <ol class="attempts">
          {found.map((x) => (
            <li key={x.run}>
              <div class="attempt-head">
                <b>Run {x.run}</b>
                <Badge tone={outcomeTones[x.outcome.toLowerCase()] ?? "warn"}>
                  {x.outcome.replace(/_/g, " ")}</Badge>
                <span class="quiet">on <Text value={x.node} />,{" "}
                  <Time at={x.started_at} />, for {duration(
                    (Date.parse(x.finished_at) - Date.parse(x.started_at))
                    / 1000)}</span>
              </div>
              {x.error && <pre class="error-text" tabIndex={0}
                               aria-label={`Error of run ${x.run}`}><Text
                value={x.error} /></pre>}
              <p class="quiet">Decision: {x.decision.replace(/_/g, " ")}
                {x.why && <>, because <Text value={x.why} /></>}
                {x.next_run_at && <>; next run <Time at={x.next_run_at} /></>}</p>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Steps(props: { path: string; job: Job }): JSX.Element | null {
  const list = useLoad<{ steps: Step[] }>(`${props.path}/steps`, undefined,
                                          true);
  useEffect(() => list.reload(), [props.job.version]);
  const found = list.data.value?.steps ?? [];
  if (found.length === 0)
    return null;
  return (
    <section class="panel" aria-labelledby="steps">
      <h2 id="steps">Steps done for good</h2>
      <div class="scroll" role="region" aria-labelledby="steps" tabIndex={0}>
        <table>
          <thead>
            <tr>
              <th scope="col">Step</th>
              <th scope="col">By</th>
              <th scope="col">Usage</th>
              <th scope="col" class="number">Took</th>
              <th scope="col" class="number">Run</th>
              <th scope="col" class="number">Done</th>
            </tr>
          </thead>
          <tbody>
            {found.map((x) => (
              <tr key={x.name}>
                <th scope="row">
                  <details>
                    <summary><Text value={x.name} /></summary>
                    <JsonBlock value={x.result} label={`Result of ${x.name}`} />
                  </details>
                </th>
                <td>{x.provider === null ? <span class="quiet">–</span>
                  : <Text value={x.model === null ? x.provider
                    : `${x.provider}/${x.model}`} />}</td>
                <td>{usageText(x.usage)}</td>
                <td class="number">{duration(x.took_ms / 1000)}</td>
                <td class="number">{x.run}</td>
                <td class="number"><Time at={x.created_at} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
