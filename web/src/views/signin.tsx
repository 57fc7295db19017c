// views/signin.tsx -- asks for a key, when the node wants one.
import { useSignal } from "@preact/signals";
import type { JSX } from "preact";

import { ApiError, get, messageOf, readKey, setKey } from "../api";
import { ErrorNote, Heading } from "../ui";

export function SignIn(props: { onDone(): void }): JSX.Element {
  const error = useSignal<unknown>(
    readKey() === null ? null : new ApiError(401, "The key is not valid"));
  const busy = useSignal(false);
  const signIn = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const key = String(form.get("key") ?? "").trim();
    // A header takes nothing else, and no key has anything else.
    if (!/^[\x21-\x7e]+$/.test(key)) {
      error.value = new ApiError(401, "That is not a key");
      return;
    }
    busy.value = true;
    setKey(key);
    try {
      await get("/api/jobs?limit=1");
      error.value = null;
      props.onDone();
    } catch (failure) {
      setKey(null);
      error.value = failure instanceof ApiError && failure.status === 401
        ? new ApiError(401, "The key is not valid")
        : new Error(messageOf(failure));
    }
    busy.value = false;
  };
  return (
    <main class="signin" id="main" tabIndex={-1}>
      <form class="panel" onSubmit={(event) => void signIn(event)}>
        <Heading title="Sign in"
                 lead="This node asks for a key. It stays in this tab." />
        <label>API key
          <input name="key" type="password" required autoFocus
                 autoComplete="off" spellcheck={false} />
        </label>
        {error.value !== null && <ErrorNote error={error.value} />}
        <div class="buttons">
          <button class="primary" disabled={busy.value}>Sign in</button>
        </div>
        <p class="quiet">An operator makes one:{" "}
          <code>reeve keys create --role=operator</code></p>
      </form>
    </main>
  );
}
