// api.ts -- talks to the node. With auth.mode=api-key every request carries the
// key, which lives in this tab's sessionStorage and nowhere else.
import { signal } from "@preact/signals";

const keyName = "reeve.key";

/// The page asks for a key.
export const keyWanted = signal(false);
export const hasKey = signal(readKey() !== null);

/// How far the node's clock is ahead of ours, in milliseconds.
let clockOffset = 0;

/// The node's time, in milliseconds.
export const now = signal(Date.now());

setInterval(() => {
  if (!document.hidden)
    now.value = nodeTime();
}, 1000);

/// The node's time at this moment: `now` is up to a second old.
export function nodeTime(): number {
  return Date.now() + clockOffset;
}

/// An answer that is no success: a problem document (RFC 9457), or nothing
/// at all (status 0).
export class ApiError extends Error {
  constructor(readonly status: number, message: string) {
    super(message);
  }
}

export function readKey(): string | null {
  try {
    return sessionStorage.getItem(keyName);
  } catch {
    return null;
  }
}

export function setKey(key: string | null): void {
  if (key === null)
    sessionStorage.removeItem(keyName);
  else
    sessionStorage.setItem(keyName, key);
  hasKey.value = key !== null;
  keyWanted.value = key === null;
}

/// A request with the key; throws `ApiError` unless it succeeds (or is a 304).
export async function send(path: string, init: RequestInit = {}):
    Promise<Response> {
  const headers = new Headers(init.headers);
  const key = readKey();
  if (key !== null)
    headers.set("Authorization", `Bearer ${key}`);
  let response: Response;
  try {
    response = await fetch(path, { cache: "no-store", ...init, headers });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError")
      throw error;
    throw new ApiError(0, "The node cannot be reached");
  }
  noteClock(response);
  if (response.ok || response.status === 304)
    return response;
  if (response.status === 401)
    keyWanted.value = true;
  throw new ApiError(response.status, await problemOf(response));
}

export async function get<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await send(path, signal ? { signal } : {});
  return await response.json() as T;
}

export async function post<T>(path: string, body?: unknown): Promise<T> {
  const init: RequestInit = { method: "POST" };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { "Content-Type": "application/json" };
  }
  const response = await send(path, init);
  return await response.json() as T;
}

/// A path with the parameters that have a value.
export function withQuery(
  path: string, query: Record<string, string | number | null | undefined>,
): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== null && value !== undefined && value !== "")
      parameters.set(name, String(value));
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function problemOf(response: Response): Promise<string> {
  const problem = await response.json().catch(() => null) as
    { detail?: unknown } | null;
  return typeof problem?.detail === "string" ? problem.detail
    : `The node answered ${response.status}`;
}

// The field has whole seconds: less than two tell nothing.
function noteClock(response: Response): void {
  const date = Date.parse(response.headers.get("Date") ?? "");
  const ahead = date - Date.now();
  clockOffset = Number.isFinite(ahead) && Math.abs(ahead) > 2000 ? ahead : 0;
}
