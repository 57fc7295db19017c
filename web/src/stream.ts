// stream.ts -- follows a stream of events for as long as somebody looks.
// EventSource cannot send a key, hence fetch.
//
// A browser opens six connections to a node, all its tabs together: a hidden
// tab lets go of its streams and takes them up again when it is shown.
import { ApiError, send } from "./api";
import { EventParser, type ServerEvent } from "./sse";

export type StreamState = "connecting" | "live" | "away" | "refused" | "over";

export interface Follower {
  onEvent(event: ServerEvent): void;
  onState?(state: StreamState, error?: ApiError): void;
}

const firstDelay = 500;
const longestDelay = 10_000;
/// The node says something every 15 s: after this it is gone.
const longestSilence = 40_000;
const hiddenGrace = 20_000;

/// Returns the function that ends it.
export function follow(path: string, follower: Follower): () => void {
  const stream = new Stream(path, follower);
  return () => stream.stop();
}

class Stream {
  #path: string;
  #follower: Follower;
  #abort: AbortController | null = null;
  #timer = 0;
  #silence = 0;
  #hide = 0;
  #delay = firstDelay;
  #lastId: string | null = null;
  #over = false;

  constructor(path: string, follower: Follower) {
    this.#path = path;
    this.#follower = follower;
    document.addEventListener("visibilitychange", this.#onVisibility);
    addEventListener("online", this.#onOnline);
    if (!document.hidden)
      void this.#connect();
  }

  stop(): void {
    this.#over = true;
    this.#disconnect();
    clearTimeout(this.#hide);
    document.removeEventListener("visibilitychange", this.#onVisibility);
    removeEventListener("online", this.#onOnline);
  }

  #onVisibility = () => {
    clearTimeout(this.#hide);
    if (document.hidden)
      this.#hide = window.setTimeout(() => this.#disconnect(), hiddenGrace);
    else if (this.#abort === null)
      this.#again(0);
  };

  #onOnline = () => {
    if (this.#abort === null && !document.hidden)
      this.#again(0);
  };

  #disconnect(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#abort?.abort();
    this.#abort = null;
  }

  #again(delay: number): void {
    clearTimeout(this.#timer);
    if (!this.#over)
      this.#timer = window.setTimeout(() => void this.#connect(), delay);
  }

  #tell(state: StreamState, error?: ApiError): void {
    if (!this.#over)
      this.#follower.onState?.(state, error);
  }

  async #connect(): Promise<void> {
    this.#disconnect();
    const abort = new AbortController();
    this.#abort = abort;
    try {
      const headers: Record<string, string> = { Accept: "text/event-stream" };
      if (this.#lastId !== null)
        headers["Last-Event-ID"] = this.#lastId;
      const response = await send(this.#path,
                                  { headers, signal: abort.signal });
      if (response.status === 204 || response.body === null)
        return this.#end("over");
      this.#tell("live");
      await this.#read(response.body, abort);
    } catch (error) {
      if (abort.signal.aborted && this.#abort !== abort)
        return;
      if (error instanceof ApiError && error.status >= 400
          && error.status < 500)
        return this.#end("refused", error);
    }
    if (this.#abort !== abort)
      return;
    this.#disconnect();
    this.#tell("away");
    this.#again(this.#delay * (0.75 + Math.random() / 2));
    this.#delay = Math.min(this.#delay * 2, longestDelay);
  }

  #end(state: StreamState, error?: ApiError): void {
    this.#tell(state, error);
    this.stop();
  }

  async #read(body: ReadableStream<Uint8Array>, abort: AbortController):
      Promise<void> {
    const reader = body.getReader();
    const decoder = new TextDecoder();
    const parser = new EventParser();
    for (;;) {
      clearTimeout(this.#silence);
      this.#silence = window.setTimeout(() => abort.abort(), longestSilence);
      const { done, value } = await reader.read();
      if (done || this.#abort !== abort)
        return;
      this.#delay = firstDelay;
      for (const event of parser.push(decoder.decode(value, { stream: true }))) {
        if (event.id !== null)
          this.#lastId = event.id;
        this.#follower.onEvent(event);
        if (this.#over)
          return;
      }
    }
  }
}
