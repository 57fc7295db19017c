// series.ts -- from samples of counts to what charts draw. Pure.
import type { Sample } from "./live";
import { type Status, statuses } from "./model";

export interface Columns {
  /// In seconds, as the chart wants them.
  at: number[];
  waiting: number[];
  running: number[];
  oldestDue: (number | null)[];
  /// Jobs a minute, over the last minute.
  added: (number | null)[];
  completed: (number | null)[];
  failed: (number | null)[];
}

const windowMs = 60_000;
/// With less than this, a rate would be a guess.
const leastMs = 5_000;

/// `type` empty: all of them. The age of the oldest due job is that of all
/// types.
export function columnsOf(samples: readonly Sample[], type: string): Columns {
  const result: Columns = {
    at: [], waiting: [], running: [], oldestDue: [], added: [], completed: [],
    failed: [],
  };
  const sums = samples.map((x) => sumOf(x, type));
  let first = 0;
  samples.forEach((sample, i) => {
    while (samples[first]!.at < sample.at - windowMs - 1000)
      ++first;
    const now = sums[i]!;
    const then = sums[first]!;
    const ms = sample.at - samples[first]!.at;
    // What retention or a retry took away is no negative rate.
    const perMinute = (a: number, b: number) =>
      ms < leastMs ? null : Math.max(0, a - b) / ms * 60_000;
    result.at.push(sample.at / 1000);
    result.waiting.push(now.PENDING);
    result.running.push(now.PROCESSING);
    result.oldestDue.push(sample.oldestDue);
    result.added.push(perMinute(total(now), total(then)));
    result.completed.push(perMinute(now.COMPLETED, then.COMPLETED));
    result.failed.push(perMinute(now.FAILED, then.FAILED));
  });
  return result;
}

/// Completed jobs of a type a minute, now.
export function rateOf(samples: readonly Sample[], type: string):
    number | null {
  // Seven samples span the last minute.
  return latest(columnsOf(samples.slice(-8), type).completed);
}

export function latest(values: readonly (number | null)[]): number | null {
  return values[values.length - 1] ?? null;
}

type Sums = Record<Status, number>;

function sumOf(sample: Sample, type: string): Sums {
  const result: Sums = {
    PENDING: 0, PROCESSING: 0, COMPLETED: 0, FAILED: 0, CANCELLED: 0,
  };
  for (const [name, counts] of Object.entries(sample.types))
    if (!type || name === type)
      for (const status of statuses)
        result[status] += counts[status] ?? 0;
  return result;
}

function total(x: Sums): number {
  return statuses.reduce((sum, status) => sum + x[status], 0);
}
