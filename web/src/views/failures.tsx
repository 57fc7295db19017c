// views/failures.tsx -- failures by what they have in common, and how to have
// them run again: first a look at what it would do, then the deed.
import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";

import { nodeTime, now, post, withQuery } from "../api";
import { count, plural } from "../format";
import { pulse, types } from "../live";
import { useLoad } from "../load";
import type { ErrorGroup, RetryReport } from "../model";
import { Link, query, setQuery } from "../router";
import {
  Dialog, Empty, ErrorNote, Heading, Loading, Mark, tell, Text, Time,
} from "../ui";

const spans: Record<string, [string, number]> = {
  "1h": ["Last hour", 3600],
  "24h": ["Last day", 86_400],
  "7d": ["Last week", 7 * 86_400],
  "": ["All time", 0],
};

/// What a bulk retry is about; a member of the request's body each.
interface Selection {
  type?: string;
  fingerprint?: string;
  error_like?: string;
  from?: string;
  to: string;
}

export function Failures(): JSX.Element {
  const given = query.value;
  const type = given.get("type") ?? "";
  const span = given.get("since") ?? "";
  const chosen = given.get("fingerprint");
  // To the minute: the address of a list must not change with each second.
  const minute = useComputed(() => Math.floor(now.value / 60_000) * 60_000);
  const from = useComputed(() =>
    startOf(query.value.get("since") ?? "", minute.value));
  const list = useLoad<{ errors: ErrorGroup[] }>(
    withQuery("/api/errors", { type, from: from.value, limit: 100 }), pulse,
    true);
  const asked = useSignal<Selection | null>(null);
  const groups = list.data.value?.errors;
  // Both ends stand still from here on: what the dry run shows is what is
  // retried, and what fails meanwhile is not. Whatever the list shows is in it.
  const selection = (more: Partial<Selection>): Selection => ({
    ...(type ? { type } : {}),
    ...(from.value ? { from: from.value } : {}),
    to: new Date(Math.max(nodeTime(), ...(groups ?? []).map(
      (x) => Date.parse(x.last_seen) + 1))).toISOString(),
    ...more,
  });
  return (
    <>
      <Heading title="Failures"
               lead="Failed jobs, grouped by what their errors have in common.">
        <label class="inline">Type
          <select value={type} onChange={(event) =>
            setQuery({ type: event.currentTarget.value }, true)}>
            <option value="">All types</option>
            {(types.value ?? []).map((x) =>
              <option key={x.type} value={x.type}>{x.type}</option>)}
          </select>
        </label>
        <label class="inline">Failed
          <select value={span} onChange={(event) =>
            setQuery({ since: event.currentTarget.value }, true)}>
            {Object.entries(spans).map(([value, [text]]) =>
              <option key={value} value={value}>{text}</option>)}
          </select>
        </label>
      </Heading>
      <PatternForm onAsk={(error_like) => {
        asked.value = selection({ error_like });
      }} />
      {list.error.value !== null
        && <ErrorNote error={list.error.value} retry={list.reload} />}
      {!groups ? list.error.value === null && <Loading />
        : groups.length === 0
          ? <Empty title="No failures">
              <p class="quiet">Nothing has failed
                {span || type ? " that fits" : ""}.</p>
            </Empty>
          : <ul class="groups">
              {groups.map((x) => (
                <Group key={x.fingerprint} group={x}
                       chosen={x.fingerprint === chosen}
                       onAsk={() => {
                         asked.value = selection({ fingerprint: x.fingerprint });
                       }} />
              ))}
            </ul>}
      {asked.value && <RetryDialog selection={asked.value}
                                   onClose={() => { asked.value = null; }}
                                   onDone={list.reload} />}
    </>
  );
}

function startOf(span: string, end: number): string | null {
  const seconds = spans[span]?.[1] ?? 0;
  return seconds ? new Date(end - seconds * 1000).toISOString() : null;
}

function PatternForm(props: { onAsk(pattern: string): void }): JSX.Element {
  const ask = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const pattern = String(form.get("pattern") ?? "").trim();
    if (pattern)
      props.onAsk(pattern);
  };
  return (
    <form class="filters" onSubmit={ask} aria-label="Retry by pattern">
      <label class="grow">Retry all whose error is like
        <input name="pattern" placeholder="%timeout%" autoComplete="off"
               spellcheck={false} required aria-describedby="pattern-help" />
      </label>
      <div class="filter-buttons"><button>Dry run</button></div>
      <p id="pattern-help" class="quiet">An SQL LIKE pattern: <code>%</code> is
        any text, <code>_</code> any character.</p>
    </form>
  );
}

function Group(props: { group: ErrorGroup; chosen: boolean; onAsk(): void }):
    JSX.Element {
  const { group } = props;
  const item = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (props.chosen)
      item.current?.scrollIntoView({ block: "center" });
  }, [props.chosen]);
  return (
    <li ref={item} class={`group panel ${props.chosen ? "chosen" : ""}`}>
      <p class="group-count"><b>{count(group.count)}</b>
        <span class="quiet">{group.count === 1 ? "job" : "jobs"}</span></p>
      <div class="group-text">
        <p class="pattern"><Text class="clamp" value={group.pattern} /></p>
        <p class="quiet">
          {group.types.map((x, i) => <span key={x}>{i > 0 && ", "}<Link
            href={`/jobs?status=FAILED&type=${encodeURIComponent(x)}`}>
            <Text value={x} /></Link></span>)}
          {" · "}first <Time at={group.first_seen} />
          {" · "}last <Time at={group.last_seen} />
          {" · "}<Link href={`/jobs/${group.example.job_id}`}>newest job</Link>
        </p>
      </div>
      <button type="button" onClick={props.onAsk}
              aria-label={`Dry run for ${plural(group.count, "job")}`}>
        Dry run</button>
    </li>
  );
}

// -- dry run and deed ---------------------------------------------------------

function RetryDialog(props: {
  selection: Selection; onClose(): void; onDone(): void;
}): JSX.Element {
  const preview = useSignal<RetryReport | null>(null);
  const error = useSignal<unknown>(null);
  const busy = useSignal(false);
  const ask = (dry_run: boolean) => post<RetryReport>("/api/jobs/retry", {
    status: "FAILED", ...props.selection, ...(dry_run ? { dry_run } : {}),
  });
  useEffect(() => {
    ask(true).then((x) => { preview.value = x; },
                   (x: unknown) => { error.value = x; });
  }, []);
  const retry = async () => {
    busy.value = true;
    error.value = null;
    try {
      const done = await ask(false);
      tell(`${plural(done.retried, "job")} will run again`
        + (done.passed_over ? `, ${count(done.passed_over)} passed over` : ""));
      props.onDone();
      props.onClose();
    } catch (failure) {
      busy.value = false;
      error.value = failure;
    }
  };
  const found = preview.value;
  return (
    <Dialog title="Dry run" onClose={props.onClose}>
      {error.value !== null && <ErrorNote error={error.value} />}
      {!found ? error.value === null && <Loading /> : (
        <>
          <p class="matched"><b>{plural(found.matched, "job")}</b> would run
            again{found.sample.length < found.matched
              ? `. The newest ${found.sample.length}:` : ":"}</p>
          <ul class="rows sample">
            {found.sample.map((x) => (
              <li key={x.id}>
                <Mark kind="failed" />
                <Link href={`/jobs/${x.id}`}><Text value={x.type} />{" "}
                  <code>{x.id.slice(-8)}</code></Link>
                <p class="quiet one-line"><Text value={x.error_message ?? ""} /></p>
              </li>
            ))}
          </ul>
        </>
      )}
      <div class="buttons">
        <button type="button" onClick={props.onClose}>Close</button>
        <button type="button" class="primary"
                disabled={!found || found.matched === 0 || busy.value}
                onClick={() => void retry()}>
          {found ? `Retry ${plural(found.matched, "job")}` : "Retry"}</button>
      </div>
    </Dialog>
  );
}
