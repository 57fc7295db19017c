// model.ts -- what the API answers, as far as the dashboard shows it.

export type Status =
  "PENDING" | "PROCESSING" | "COMPLETED" | "FAILED" | "CANCELLED";

export const statuses: readonly Status[] =
  ["PENDING", "PROCESSING", "COMPLETED", "FAILED", "CANCELLED"];

export type Json =
  null | boolean | number | string | Json[] | { [key: string]: Json };

export interface Usage {
  input_tokens: number;
  output_tokens: number;
  images: number;
}

export interface Progress {
  percent: number;
  message: string;
}

export interface Job {
  id: string;
  type: string;
  status: Status;
  target_id: string;
  user_id: string | null;
  payload: Json;
  result: Json;
  progress: Progress;
  error_message: string | null;
  attempts: number;
  max_attempts: number;
  unspent: { throttled: number; provider_down: number; interrupted: number };
  usage: Usage;
  priority: number;
  unique_key: string | null;
  /// W3C Trace Context.
  traceparent: string | null;
  run_at: string;
  reason: string;
  cancel_requested: boolean;
  created_at: string;
  started_at: string | null;
  finished_at: string | null;
  updated_at: string;
  version: number;
}

export interface Attempt {
  run: number;
  node: string;
  started_at: string;
  finished_at: string;
  outcome: string;
  error: string;
  decision: string;
  why: string;
  next_run_at: string | null;
}

export interface Step {
  name: string;
  provider: string | null;
  model: string | null;
  usage: Usage;
  took_ms: number;
  run: number;
  created_at: string;
  result: Json;
}

export interface Explanation {
  code: string;
  text: string;
  until: string | null;
  blocking_job: string | null;
  queue_position: number | null;
}

export interface ErrorGroup {
  fingerprint: string;
  pattern: string;
  count: number;
  types: string[];
  first_seen: string;
  last_seen: string;
  example: { job_id: string; error_message: string };
}

export interface RetryReport {
  matched: number;
  retried: number;
  passed_over: number;
  sample: {
    id: string;
    type: string;
    error_message: string | null;
    finished_at: string | null;
  }[];
}

export type Counts = Partial<Record<Status, number>>;

export interface Stats {
  jobs: Record<Status, number>;
  by_type: Record<string, Counts>;
  oldest_due_seconds: number | null;
}

/// As the stream tells it.
export interface LiveStats extends Stats {
  node: string;
  changes: number;
}

export interface History {
  spacing_seconds: number;
  at: string[];
  oldest_due_seconds: (number | null)[];
  types: Record<string, Partial<Record<Status, number[]>>>;
}

export interface RateLimit {
  limit: number;
  remaining: number;
  reset_seconds: number;
}

export interface Lane {
  name: string;
  state: string;
  reason: string | null;
  opens_in_seconds: number | null;
  in_flight: number;
  concurrency: number;
  waiting: number;
  calls: number;
  outages: number;
  limits: {
    requests: RateLimit | null;
    input_tokens: RateLimit | null;
    output_tokens: RateLimit | null;
  };
}

export interface JobType {
  type: string;
  paused: boolean;
  reason: string | null;
  paused_since: string | null;
  running: number;
  concurrency: number | null;
  timeout_seconds: number;
  max_attempts: number;
  lanes: Lane[];
}

export interface Page {
  number: number;
  text: string;
  image: { url: string; etag: string; model: string; bytes: number } | null;
}

export interface Book {
  id: string;
  job_id: string;
  user_id: string | null;
  title: string;
  prompt: string;
  page_count: number;
  status: Status;
  progress: Progress;
  error_message: string | null;
  created_at: string;
  pages: Page[];
}

export interface Card {
  id: string;
  scrap_id: string;
  job_id: string;
  user_id: string | null;
  summary: string;
  tags: string[];
  model: string;
  created_at: string;
  similarity?: number;
  embedding_dimension?: number;
}

export interface Scrap {
  id: string;
  title: string | null;
  url: string | null;
  content: string;
  created_at: string;
}

export function isFinal(status: Status): boolean {
  return status !== "PENDING" && status !== "PROCESSING";
}

/// Quantiles in seconds, or in what the figure counts.
export interface Distribution {
  count: number;
  p50: number | null;
  p95: number | null;
  p99: number | null;
  last?: number | null;
}

export interface Actor {
  name: string;
  id: number;
  parent: string | null;
  state: string;
  mailbox: number;
  messages: number;
  wait_seconds: Distribution | null;
  handling_seconds: Distribution | null;
  counts: Record<string, number>;
  restarts: number;
  restart_history: { at: string; reason: string | null; by: string }[];
  restart_budget: { left: number; of: number; window_seconds: number } | null;
  last_error: string | null;
  uptime_seconds: number;
  job_id: string | null;
  job_type: string | null;
  job_since: string | null;
  commits: {
    batch: Distribution; seconds: Distribution; queue: Distribution;
  } | null;
  lane: Lane | null;
}
