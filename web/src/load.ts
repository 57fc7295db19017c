// load.ts -- keeps a view's data fresh: loads it, and again whenever `when`
// changes, but never two loads at once and not more than one a second.
import { type ReadonlySignal, type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";

import { get } from "./api";

const spacing = 1000;

export interface Loaded<T> {
  data: Signal<T | null>;
  error: Signal<unknown>;
  reload(): void;
}

/// `path` empty: nothing to load now. A change of it forgets what was there,
/// unless `keep` is set.
export function useLoad<T>(path: string, when?: ReadonlySignal<unknown>,
                           keep = false): Loaded<T> {
  const data = useSignal<T | null>(null);
  const error = useSignal<unknown>(null);
  const reload = useRef<() => void>(() => {});
  useEffect(() => {
    if (!keep)
      data.value = null;
    error.value = null;
    if (!path)
      return;
    const abort = new AbortController();
    let busy = false;
    let again = false;
    let last = -Infinity;
    let timer = 0;
    const load = async () => {
      clearTimeout(timer);
      timer = 0;
      busy = true;
      again = false;
      last = performance.now();
      try {
        const found = await get<T>(path, abort.signal);
        if (!abort.signal.aborted) {
          data.value = found;
          error.value = null;
        }
      } catch (failure) {
        if (!abort.signal.aborted)
          error.value = failure;
      }
      busy = false;
      if (again)
        ask();
    };
    const ask = () => {
      if (abort.signal.aborted || timer)
        return;
      if (busy) {
        again = true;
        return;
      }
      const wait = Math.max(0, last + spacing - performance.now());
      timer = window.setTimeout(() => void load(), wait);
    };
    reload.current = ask;
    void load();
    let first = true;
    const end = when?.subscribe(() => {
      if (!first)
        ask();
      first = false;
    });
    return () => {
      end?.();
      clearTimeout(timer);
      abort.abort();
    };
  }, [path]);
  return { data, error, reload: () => reload.current() };
}
