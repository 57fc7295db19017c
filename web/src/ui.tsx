// ui.tsx -- the small parts that all views are made of.
import { type Signal, useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";

import { ApiError, messageOf, now } from "./api";
import { exact, relative, shortId, visible } from "./format";
import type { Json, Status } from "./model";

// -- texts of strangers -------------------------------------------------------

/// A text that anybody may have written: isolated, so that it cannot turn the
/// direction of what stands around it, and clipped to its own box.
export function Text(props: { value: string; class?: string }): JSX.Element {
  return (
    <bdi class={`stranger ${props.class ?? ""}`}>{visible(props.value)}</bdi>
  );
}

// -- status -------------------------------------------------------------------

const marks: Record<string, string> = {
  pending: "M8 2.5a5.5 5.5 0 1 1 0 11a5.5 5.5 0 0 1 0-11M8 5v3.2l2 1.3",
  processing: "M8 2.5a5.5 5.5 0 1 1-5.5 5.5",
  completed: "M3.5 8.5l3 3l6-7",
  failed: "M4 4l8 8M12 4l-8 8",
  cancelled: "M3.5 8h9",
  open: "M3.5 8.5l3 3l6-7",
  paused: "M5.5 4v8M10.5 4v8",
  warn: "M8 3v6M8 12v.5",
};

export function Mark(props: { kind: string }): JSX.Element {
  return (
    <svg class="mark" viewBox="0 0 16 16" width="14" height="14"
         aria-hidden="true">
      <path d={marks[props.kind] ?? marks["warn"]!} />
    </svg>
  );
}

const words: Record<Status, string> = {
  PENDING: "Pending", PROCESSING: "Processing", COMPLETED: "Completed",
  FAILED: "Failed", CANCELLED: "Cancelled",
};

export function statusWord(status: Status): string {
  return words[status] ?? status;
}

export function StatusBadge(props: { status: Status }): JSX.Element {
  const kind = props.status.toLowerCase();
  return (
    <span class={`badge ${kind}`}><Mark kind={kind} />
      {statusWord(props.status)}</span>
  );
}

/// Any other state: `tone` is one of completed, processing, failed, pending,
/// cancelled, warn.
export function Badge(props: { tone: string; children: ComponentChildren }):
    JSX.Element {
  return (
    <span class={`badge ${props.tone}`}><Mark kind={props.tone} />
      {props.children}</span>
  );
}

// -- times --------------------------------------------------------------------

export function Time(props: { at: string | null }): JSX.Element {
  const at = props.at === null ? NaN : Date.parse(props.at);
  if (Number.isNaN(at))
    return <span class="quiet">–</span>;
  return (
    <time dateTime={props.at!} title={exact(at)}>
      <Relative key={at} at={at} />
    </time>
  );
}

// Ticks without drawing anything around it anew.
function Relative(props: { at: number }): JSX.Element {
  const text = useComputed(() => relative(props.at, now.value));
  return <>{text}</>;
}

// -- ids ----------------------------------------------------------------------

export function CopyButton(props: { text: string; label: string }):
    JSX.Element {
  const done = useSignal(false);
  const copy = async () => {
    await copyText(props.text);
    done.value = true;
    setTimeout(() => { done.value = false; }, 1500);
  };
  return (
    <button type="button" class="copy" aria-label={props.label}
            title={props.label} onClick={() => void copy()}>
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        <path d={done.value ? marks["completed"]!
          : "M6 6h7v7H6zM10 6V3H3v7h3"} />
      </svg>
    </button>
  );
}

// Not on plain HTTP, but on loopback.
async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "offscreen";
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

export function Id(props: { id: string; whole?: boolean }): JSX.Element {
  return (
    <span class="id">
      <code title={props.id}>{props.whole ? props.id : shortId(props.id)}</code>
      <CopyButton text={props.id} label={`Copy id ${props.id}`} />
    </span>
  );
}

// -- fields -------------------------------------------------------------------

/// An input that shows `value`, and what is typed over it until `value` is
/// another. It stays the same element: the keyboard keeps its place.
export function Field(props: {
  name: string; value: string; placeholder?: string; maxLength?: number;
}): JSX.Element {
  const element = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    element.current!.value = props.value;
  }, [props.value]);
  return (
    <input ref={element} name={props.name} placeholder={props.placeholder}
           maxLength={props.maxLength} autoComplete="off" spellcheck={false} />
  );
}

// -- states of a view ---------------------------------------------------------

export function Loading(): JSX.Element {
  return (
    <div class="loading" role="status">
      <span class="offscreen">Loading</span>
      <i /><i /><i />
    </div>
  );
}

export function Empty(props: { title: string; children?: ComponentChildren }):
    JSX.Element {
  return (
    <div class="empty"><p class="empty-title">{props.title}</p>
      {props.children}</div>
  );
}

export function ErrorNote(props: { error: unknown; retry?: () => void }):
    JSX.Element {
  const forbidden = props.error instanceof ApiError
    && props.error.status === 403;
  return (
    <div class="note failed" role="alert">
      <Mark kind="warn" />
      <div>
        <p><Text value={messageOf(props.error)} /></p>
        {forbidden && <p class="quiet">The key you signed in with belongs to a
          client. This view takes an operator's.</p>}
      </div>
      {props.retry && !forbidden
        && <button type="button" onClick={props.retry}>Try again</button>}
    </div>
  );
}

// -- progress -----------------------------------------------------------------

/// An SVG: widths of its own need no style.
export function Bar(props: { percent: number; label: string; tone?: string }):
    JSX.Element {
  const percent = Math.min(100, Math.max(0, props.percent));
  return (
    <svg class={`bar ${props.tone ?? ""}`} viewBox="0 0 100 4"
         preserveAspectRatio="none" role="progressbar" aria-valuemin={0}
         aria-valuemax={100} aria-valuenow={Math.round(percent)}
         aria-label={props.label}>
      <rect class="bar-rail" width="100" height="4" />
      <rect class="bar-fill" width={percent} height="4" />
    </svg>
  );
}

// -- JSON ---------------------------------------------------------------------

export function JsonBlock(props: { value: Json; label: string }): JSX.Element {
  const text = JSON.stringify(props.value, null, 2);
  return (
    <div class="json">
      <CopyButton text={text} label={`Copy ${props.label}`} />
      <pre tabIndex={0} aria-label={props.label}><Text value={text} /></pre>
    </div>
  );
}

// -- dialogs and notices ------------------------------------------------------

export function Dialog(props: {
  title: string; onClose(): void; children: ComponentChildren;
}): JSX.Element {
  const element = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={element} aria-labelledby="dialog-title"
            onClose={props.onClose}
            onClick={(event) => {
              if (event.target === element.current)
                props.onClose();
            }}>
      <div class="dialog">
        <h2 id="dialog-title">{props.title}</h2>
        {props.children}
      </div>
    </dialog>
  );
}

interface Notice {
  text: string;
  tone: "completed" | "failed";
}

export const notice: { current: Signal<Notice | null> | null } =
  { current: null };
let noticeTimer = 0;

export function tell(text: string, tone: Notice["tone"] = "completed"): void {
  if (!notice.current)
    return;
  notice.current.value = { text, tone };
  clearTimeout(noticeTimer);
  noticeTimer = window.setTimeout(() => {
    if (notice.current)
      notice.current.value = null;
  }, tone === "failed" ? 10_000 : 5_000);
}

export function Notices(): JSX.Element {
  const current = useSignal<Notice | null>(null);
  notice.current = current;
  return (
    <div class="notices" role="status" aria-live="polite">
      {current.value && (
        <p class={`notice ${current.value.tone}`}>
          <Mark kind={current.value.tone} />
          <Text value={current.value.text} />
          <button type="button" class="plain" aria-label="Dismiss"
                  onClick={() => { current.value = null; }}>×</button>
        </p>
      )}
    </div>
  );
}

/// A button for what takes a while and may fail; says how it went.
export function Action(props: {
  run(): Promise<string>; children: ComponentChildren; class?: string;
  disabled?: boolean; label?: string;
}): JSX.Element {
  const busy = useSignal(false);
  const start = async () => {
    if (busy.value)
      return;
    busy.value = true;
    try {
      tell(await props.run());
    } catch (error) {
      tell(messageOf(error), "failed");
    }
    busy.value = false;
  };
  return (
    <button type="button" class={props.class} aria-label={props.label}
            aria-disabled={busy.value} disabled={props.disabled}
            onClick={() => void start()}>
      {props.children}
    </button>
  );
}

/// Heading of a view, and the title of the page.
export function Heading(props: {
  title: string; children?: ComponentChildren; lead?: ComponentChildren;
}): JSX.Element {
  useEffect(() => {
    document.title = `${visible(props.title).slice(0, 60)} · Reeve`;
  }, [props.title]);
  return (
    <header class="heading">
      <div>
        <h1><Text value={props.title} /></h1>
        {props.lead && <p class="quiet">{props.lead}</p>}
      </div>
      {props.children && <div class="actions">{props.children}</div>}
    </header>
  );
}
