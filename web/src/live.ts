// live.ts -- what the node says of itself while the page is open: counts, types
// and lanes, pushed; and the last hour of the counts.
import { effect, signal } from "@preact/signals";

import { ApiError, get, keyWanted, messageOf, now } from "./api";
import {
  type History, type JobType, type Lane, type LiveStats, type Status, statuses,
} from "./model";
import { follow, type StreamState } from "./stream";

/// The counts at one time.
export interface Sample {
  at: number;
  oldestDue: number | null;
  types: Record<string, Partial<Record<Status, number>>>;
}

export const stats = signal<LiveStats | null>(null);
export const types = signal<JobType[] | null>(null);
export const lanes = signal<Lane[] | null>(null);
/// When the lanes were told: `opens_in_seconds` counts from then.
export const lanesAt = signal(0);
export const connection = signal<StreamState>("connecting");
export const refusal = signal<ApiError | null>(null);
export const samples = signal<Sample[]>([]);
/// Grows with each change of any job that the node hears of.
export const pulse = signal(0);

const spacing = 10_000;
const kept = 360;

let stop: (() => void) | null = null;

/// Follows the node, anew after a change of key.
export function start(): void {
  stop?.();
  refusal.value = null;
  connection.value = "connecting";
  stop = follow("/api/stats/events", {
    onEvent(event) {
      const body = JSON.parse(event.data) as unknown;
      if (event.name === "stats")
        take(body as LiveStats);
      else if (event.name === "types")
        types.value = (body as { types: JobType[] }).types;
      else if (event.name === "providers") {
        lanes.value = (body as { providers: Lane[] }).providers;
        lanesAt.value = now.peek();
      }
    },
    onState(state, error) {
      connection.value = state;
      if (error && error.status !== 401)
        refusal.value = error;
      // A node that was away, or is another one by now.
      if (state === "live")
        void loadHistory();
    },
  });
}

// Who has signed out sees nothing more.
effect(() => {
  if (!keyWanted.value)
    return;
  stop?.();
  stop = null;
  stats.value = null;
  types.value = null;
  lanes.value = null;
  samples.value = [];
});

setInterval(() => {
  if (!document.hidden && connection.peek() === "live" && stats.peek())
    remember(stats.peek()!);
}, 1000);

function take(next: LiveStats): void {
  stats.value = next;
  pulse.value += 1;
  remember(next);
}

// The last sample is the present; every ten seconds it stays.
function remember(what: LiveStats): void {
  const list = samples.peek();
  const sample: Sample = {
    at: now.peek(), oldestDue: what.oldest_due_seconds, types: what.by_type,
  };
  const before = list[list.length - 2];
  const settled = before && sample.at - before.at < spacing
    ? list.slice(0, -1) : list;
  samples.value = [...settled, sample].slice(-kept);
}

async function loadHistory(): Promise<void> {
  if (keyWanted.peek())
    return;
  try {
    const history = await get<History>("/api/stats/history");
    const list = samplesOf(history);
    const current = stats.peek();
    samples.value = list;
    if (current)
      remember(current);
  } catch (error) {
    console.warn("no history:", messageOf(error));
  }
}

export function samplesOf(history: History): Sample[] {
  return history.at.map((at, i) => {
    const byType: Sample["types"] = {};
    for (const [type, series] of Object.entries(history.types)) {
      const values: Partial<Record<Status, number>> = {};
      for (const status of statuses)
        values[status] = series[status]?.[i] ?? 0;
      byType[type] = values;
    }
    return {
      at: Date.parse(at),
      oldestDue: history.oldest_due_seconds[i] ?? null,
      types: byType,
    };
  });
}
