// views/types.tsx -- the job types of this node, and how to stop one.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

import { post } from "../api";
import { count, duration } from "../format";
import { refusal, stats, types } from "../live";
import type { JobType } from "../model";
import { Link } from "../router";
import {
  Action, Badge, Dialog, Empty, ErrorNote, Heading, Loading, tell, Text, Time,
} from "../ui";
import { laneTone, laneWord } from "./providers";

export function Types(): JSX.Element {
  const pausing = useSignal<string | null>(null);
  const list = types.value;
  return (
    <>
      <Heading title="Types"
               lead="A paused type rests on all nodes; running jobs go on." />
      {refusal.value !== null && <ErrorNote error={refusal.value} />}
      {!list ? refusal.value === null && <Loading />
        : list.length === 0 ? <Empty title="This node has no job types" />
        : <ul class="cards-grid">
            {list.map((x) => <TypeCard key={x.type} type={x} onPause={() => {
              pausing.value = x.type;
            }} />)}
          </ul>}
      {pausing.value !== null && <PauseDialog type={pausing.value}
        onClose={() => { pausing.value = null; }} />}
    </>
  );
}

function TypeCard(props: { type: JobType; onPause(): void }): JSX.Element {
  const { type } = props;
  const counts = stats.value?.by_type[type.type] ?? {};
  const resume = async () => {
    await post(`/api/types/${encodeURIComponent(type.type)}/resume`);
    return `${type.type} goes on`;
  };
  return (
    <li class="panel type-card">
      <div class="card-head">
        <h2><Link href={`/jobs?type=${encodeURIComponent(type.type)}`}>
          <Text value={type.type} /></Link></h2>
        {type.paused ? <Badge tone="paused">Paused</Badge>
          : <Badge tone="completed">Runs</Badge>}
      </div>
      {type.paused && (
        <p class="quiet">Since <Time at={type.paused_since} />
          {type.reason && <>: <Text value={type.reason} /></>}</p>
      )}
      <dl class="facts compact">
        <div><dt>Waiting</dt><dd>{count(counts.PENDING ?? 0)}</dd></div>
        <div><dt>Running</dt><dd>{count(counts.PROCESSING ?? 0)}
          {type.concurrency !== null && <span class="quiet"> of {
            type.concurrency}</span>}</dd></div>
        <div><dt>On this node</dt><dd>{type.running}</dd></div>
        <div><dt>Time limit</dt><dd>{duration(type.timeout_seconds)}</dd></div>
        <div><dt>Attempts</dt><dd>{type.max_attempts}</dd></div>
      </dl>
      {type.lanes.length > 0 && (
        <p class="lanes-line">{type.lanes.map((x) => (
          <span key={x.name}><Badge tone={laneTone(x.state)}>{
            laneWord(x.state)}</Badge> <Link href="/providers"><Text
            value={x.name} /></Link></span>
        ))}</p>
      )}
      <div class="buttons">
        {type.paused
          ? <Action class="primary" run={resume}
                    label={`Resume ${type.type}`}>Resume</Action>
          : <button type="button" aria-label={`Pause ${type.type}`}
                    onClick={props.onPause}>Pause</button>}
      </div>
    </li>
  );
}

function PauseDialog(props: { type: string; onClose(): void }): JSX.Element {
  const error = useSignal<unknown>(null);
  const pause = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const reason = String(form.get("reason") ?? "").trim();
    error.value = null;
    try {
      await post(`/api/types/${encodeURIComponent(props.type)}/pause`,
                 reason ? { reason } : {});
      tell(`${props.type} is paused`);
      props.onClose();
    } catch (failure) {
      error.value = failure;
    }
  };
  return (
    <Dialog title={`Pause ${props.type}?`} onClose={props.onClose}>
      <form onSubmit={(event) => void pause(event)}>
        <p>No node takes up another job of this type until it is resumed.</p>
        <label>Why (shown to others)
          <input name="reason" maxLength={500} autoComplete="off" autoFocus />
        </label>
        {error.value !== null && <ErrorNote error={error.value} />}
        <div class="buttons">
          <button type="button" onClick={props.onClose}>Let it run</button>
          <button class="primary">Pause</button>
        </div>
      </form>
    </Dialog>
  );
}
