// views/jobs.tsx -- jobs by what they are and what became of them, a page at a
// time, newest first.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { withQuery } from "../api";
import { count, duration } from "../format";
import { pulse, stats, types } from "../live";
import { useLoad } from "../load";
import { isFinal, type Job, statuses } from "../model";
import { Link, navigate, query, setQuery } from "../router";
import {
  Bar, CopyButton, Empty, ErrorNote, Field, Heading, Loading, StatusBadge,
  statusWord, Text, Time,
} from "../ui";

interface JobPage {
  jobs: Job[];
  next_cursor: string | null;
}

const filters = ["status", "type", "target_id", "user_id", "error"] as const;
const pageSize = 50;
const uuid = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

// The narrow have the filters behind a word.
const isWide = matchMedia("(min-width: 601px)").matches;

function anyFilter(): boolean {
  return filters.some((x) => x !== "status" && query.value.get(x));
}

export function Jobs(): JSX.Element {
  const given = query.value;
  const path = withQuery("/api/jobs", {
    ...Object.fromEntries(filters.map((x) => [x, given.get(x)])),
    cursor: given.get("cursor"), limit: pageSize,
  });
  const page = useLoad<JobPage>(path, pulse, true);
  const jobs = page.data.value?.jobs;
  return (
    <>
      <Heading title="Jobs" />
      <StatusTabs />
      <details class="filter-box" open={isWide || anyFilter()}>
        <summary>Filters</summary>
        <Filters />
      </details>
      {page.error.value !== null
        && <ErrorNote error={page.error.value} retry={page.reload} />}
      {!jobs ? page.error.value === null && <Loading />
        : jobs.length === 0 ? <NoJobs />
        : <Table jobs={jobs} />}
      {jobs && <Pager next={page.data.value!.next_cursor}
                      shown={jobs.length} />}
    </>
  );
}

// -- filters ------------------------------------------------------------------

function StatusTabs(): JSX.Element {
  const chosen = query.value.get("status") ?? "";
  const type = query.value.get("type");
  const counts = type ? stats.value?.by_type[type] ?? {} : stats.value?.jobs;
  const href = (status: string) => {
    const next = new URLSearchParams(query.value);
    next.delete("cursor");
    if (status)
      next.set("status", status);
    else
      next.delete("status");
    const text = next.toString();
    return text ? `/jobs?${text}` : "/jobs";
  };
  return (
    <nav class="tabs" aria-label="Status">
      <Link href={href("")} current={chosen === ""}>All</Link>
      {statuses.map((x) => (
        <Link key={x} href={href(x)} current={chosen === x}>
          {statusWord(x)}
          {counts && <span class="pill">{count(counts[x] ?? 0)}</span>}
        </Link>
      ))}
    </nav>
  );
}

function Filters(): JSX.Element {
  const given = query.value;
  const known = new Set((types.value ?? []).map((x) => x.type));
  for (const type of Object.keys(stats.value?.by_type ?? {}))
    known.add(type);
  const chosen = given.get("type") ?? "";
  if (chosen)
    known.add(chosen);
  const apply = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    if (uuid.test(text("id")))
      return navigate(`/jobs/${text("id").toLowerCase()}`);
    setQuery({
      type: text("type"), target_id: text("target_id"),
      user_id: text("user_id"), error: text("error"), cursor: null,
    });
  };
  // Its button goes with the filters: the keyboard stays in the form.
  const clear = (event: MouseEvent) => {
    const { form } = event.currentTarget as HTMLButtonElement;
    form?.reset();
    form?.querySelector("select")?.focus();
    setQuery({ type: null, target_id: null, user_id: null, error: null,
               cursor: null });
  };
  return (
    <form class="filters" onSubmit={apply} aria-label="Filters" role="search">
      <label>Type
        <select name="type" value={chosen}
                onChange={(event) => event.currentTarget.form?.requestSubmit()}>
          <option value="">All types</option>
          {[...known].sort().map((x) => <option key={x} value={x}>{x}</option>)}
        </select>
      </label>
      <label>Job id
        <input name="id" placeholder="Go to a job" autoComplete="off"
               spellcheck={false}
               pattern=" *[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12} *"
               title="A whole id, such as 0190f6a2-…" />
      </label>
      <label>Target
        <Field name="target_id" value={given.get("target_id") ?? ""} />
      </label>
      <label>User
        <Field name="user_id" value={given.get("user_id") ?? ""} />
      </label>
      <label>Error like
        <Field name="error" value={given.get("error") ?? ""}
               placeholder="%timeout%" />
      </label>
      <div class="filter-buttons">
        <button>Apply</button>
        {anyFilter() && <button type="button" class="plain"
                                onClick={clear}>Clear</button>}
      </div>
    </form>
  );
}

// -- the page -----------------------------------------------------------------

function NoJobs(): JSX.Element {
  const any = query.value.toString() !== "";
  return any
    ? <Empty title="No job fits">
        <p class="quiet"><Link href="/jobs">Show all jobs</Link></p>
      </Empty>
    : <Empty title="No jobs yet">
        <p class="quiet">They come in by <code>POST /api/jobs</code>, and show
          up here by themselves.</p>
      </Empty>;
}

function Table(props: { jobs: Job[] }): JSX.Element {
  return (
    <table class="jobs" aria-label="Jobs, newest first" tabIndex={-1}>
      <thead>
        <tr>
          <th scope="col">Status</th>
          <th scope="col">Job</th>
          <th scope="col" class="wide">Target</th>
          <th scope="col" class="wide number">Attempts</th>
          <th scope="col" class="medium">What happens</th>
          <th scope="col" class="number">Created</th>
          <th scope="col" class="wide number">Took</th>
        </tr>
      </thead>
      <tbody>{props.jobs.map((job) => <Row key={job.id} job={job} />)}</tbody>
    </table>
  );
}

function Row(props: { job: Job }): JSX.Element {
  const { job } = props;
  return (
    <tr>
      <td><StatusBadge status={job.status} /></td>
      <td>
        <div class="job-name">
          <Link href={`/jobs/${job.id}`} label={`${job.type}, job ${job.id}`}>
            <Text value={job.type} /></Link>
          <span class="id quiet"><code title={job.id}>{job.id.slice(-8)}</code>
            <CopyButton text={job.id} label={`Copy id ${job.id}`} /></span>
        </div>
        {(job.error_message || job.status === "PROCESSING")
          && <div class="narrow what"><What job={job} /></div>}
      </td>
      <td class="wide target"><Text class="one-line" value={job.target_id} /></td>
      <td class="wide number">{job.attempts}<span class="quiet">
        {" "}of {job.max_attempts}</span></td>
      <td class="medium what"><What job={job} /></td>
      <td class="number"><Time at={job.created_at} /></td>
      <td class="wide number">{took(job)}</td>
    </tr>
  );
}

function What(props: { job: Job }): JSX.Element {
  const { job } = props;
  if (job.status === "PROCESSING")
    return (
      <div class="running">
        <Bar percent={job.progress.percent} label="Progress" />
        <span class="quiet one-line">{job.progress.percent} %{" "}
          <Text value={job.progress.message} /></span>
      </div>
    );
  if (job.error_message)
    return <Text class="one-line bad" value={job.error_message} />;
  if (job.status === "PENDING" && job.reason)
    return <Text class="one-line quiet" value={job.reason} />;
  return <span class="quiet">–</span>;
}

function took(job: Job): string {
  if (!job.started_at || !isFinal(job.status) || !job.finished_at)
    return "–";
  return duration(
    (Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1000);
}

// -- pages --------------------------------------------------------------------

// The way back is the browser's too: each page has an address.
function Pager(props: { next: string | null; shown: number }): JSX.Element {
  const cursor = query.value.get("cursor");
  const trail = useSignal<string[]>([]);
  const rest = [...query.value].filter(([name]) => name !== "cursor").join();
  useEffect(() => {
    trail.value = [];
  }, [rest]);
  // The button may go with the page: the keyboard goes on at the table.
  const turn = (to: string | null) => {
    setQuery({ cursor: to });
    scrollTo(0, 0);
    document.querySelector<HTMLElement>("table.jobs")
      ?.focus({ preventScroll: true });
  };
  const older = () => {
    trail.value = [...trail.value, cursor ?? ""];
    turn(props.next);
  };
  const newer = () => {
    const back = trail.value[trail.value.length - 1] ?? "";
    trail.value = trail.value.slice(0, -1);
    turn(back || null);
  };
  if (!cursor && !props.next)
    return <></>;
  return (
    <nav class="pager" aria-label="Pages">
      {cursor && <button type="button" onClick={() => turn(null)}>
        Newest</button>}
      {cursor && trail.value.length > 0
        && <button type="button" onClick={newer}>Newer</button>}
      {props.next && <button type="button" onClick={older}>Older</button>}
      <span class="quiet">{props.shown} on this page</span>
    </nav>
  );
}
