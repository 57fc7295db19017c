// picture.tsx -- an image that may take a key to see: fetched, then shown from
// memory.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";

import { send } from "./api";

export function Picture(props: { url: string; etag: string; alt: string }):
    JSX.Element {
  const address = useSignal<string | null>(null);
  const failed = useSignal(false);
  useEffect(() => {
    const abort = new AbortController();
    let made: string | null = null;
    failed.value = false;
    send(props.url, { signal: abort.signal, cache: "no-cache" })
      .then((response) => response.blob())
      .then((blob) => {
        if (abort.signal.aborted)
          return;
        made = URL.createObjectURL(blob);
        address.value = made;
      })
      .catch(() => {
        if (!abort.signal.aborted)
          failed.value = true;
      });
    return () => {
      abort.abort();
      if (made)
        URL.revokeObjectURL(made);
    };
  }, [props.url, props.etag]);
  if (failed.value)
    return <span class="picture missing">The picture did not load</span>;
  if (address.value === null)
    return <span class="picture loading-picture" />;
  return <img class="picture" src={address.value} alt={props.alt} />;
}
