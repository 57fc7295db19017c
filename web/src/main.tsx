// main.tsx -- the frame around the views, and which view an address is.
import { useSignal } from "@preact/signals";
import { type JSX, render } from "preact";
import { useEffect, useRef } from "preact/hooks";

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { hasKey, keyWanted, setKey } from "./api";
import { shortCount } from "./format";
import { connection, lanes, start, stats, types } from "./live";
import { Link, path } from "./router";
import { chooseTheme, type Theme, theme } from "./theme";
import { Empty, Heading, Notices, Text } from "./ui";
import { Actors } from "./views/actors";
import { Books, BookView } from "./views/books";
import { Cards, CardView } from "./views/cards";
import { Failures } from "./views/failures";
import { Jobs } from "./views/jobs";
import { JobView } from "./views/job";
import { Overview } from "./views/overview";
import { Providers } from "./views/providers";
import { SignIn } from "./views/signin";
import { Types } from "./views/types";

function App(): JSX.Element {
  if (keyWanted.value)
    return <SignIn onDone={start} />;
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
      }}>Skip to content</a>
      <Sidebar />
      <main id="main" tabIndex={-1}><View /></main>
      <Notices />
    </>
  );
}

function View(): JSX.Element {
  const [view, id, ...rest] = path.value.split("/").slice(1)
    .map(decodeSegment);
  if (rest.length > 0)
    return <Nowhere />;
  if (id)
    switch (view) {
      case "jobs": return <JobView id={id} />;
      case "books": return <BookView id={id} />;
      case "cards": return <CardView id={id} />;
      default: return <Nowhere />;
    }
  switch (view) {
    case "": return <Overview />;
    case "jobs": return <Jobs />;
    case "failures": return <Failures />;
    case "types": return <Types />;
    case "providers": return <Providers />;
    case "actors": return <Actors />;
    case "books": return <Books />;
    case "cards": return <Cards />;
    default: return <Nowhere />;
  }
}

function decodeSegment(x: string): string {
  try {
    return decodeURIComponent(x);
  } catch {
    return x;
  }
}

function Nowhere(): JSX.Element {
  return (
    <>
      <Heading title="Not found" />
      <Empty title="There is no such view">
        <p><Link href="/">Go to the overview</Link></p>
      </Empty>
    </>
  );
}

// -- navigation ---------------------------------------------------------------

const icons: Record<string, string> = {
  "/": "M2.5 9.5 8 3l5.5 6.5M4.5 8v5h7V8",
  "/jobs": "M3 4.5h10M3 8h10M3 11.5h6",
  "/failures": "M8 2.5 14 13H2zM8 6.5v3M8 11v.3",
  "/types": "M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 9h4v4H9z",
  "/providers": "M5 8a3 3 0 0 1 6 0M2.5 8a5.5 5.5 0 0 1 11 0M8 8v5M6 13h4",
  "/actors": "M8 2.5v3M8 5.5h-4.500v4M8 5.5h4.500v4M2 9.500h3v3H2zM11 9.500h3v3h-3zM6.500 2h3",
  "/books": "M8 4.500C6.500 3.300 4.500 3 2.500 3v9c2 0 4 .3 5.500 1.500C9.500 12.300 11.500 12 13.500 12V3c-2 0-4 .3-5.500 1.500v9",
  "/cards": "M2.500 4.500h11v8h-11zM5 7h6M5 9.500h4",
};

const views: readonly [string, string][] = [
  ["/", "Overview"], ["/jobs", "Jobs"], ["/failures", "Failures"],
  ["/types", "Types"], ["/providers", "Providers"], ["/actors", "Actors"],
  ["/books", "Books"], ["/cards", "Cards"],
];

function Sidebar(): JSX.Element {
  const open = useSignal(false);
  const menu = useRef<HTMLButtonElement>(null);
  const here = "/" + (path.value.split("/")[1] ?? "");
  useEffect(() => { open.value = false; }, [path.value]);
  useEffect(() => {
    if (!open.value)
      return;
    const close = (event: KeyboardEvent) => {
      if (event.key !== "Escape")
        return;
      open.value = false;
      menu.current?.focus();
    };
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [open.value]);
  return (
    <header class={`sidebar ${open.value ? "open" : ""}`}>
      <div class="brand">
        <Link href="/" class="logo" label="Reeve, overview">
          <svg viewBox="0 0 32 32" width="24" height="24" aria-hidden="true">
            <rect class="logo-back" width="32" height="32" rx="8" />
            <path class="logo-line" d="M10 24V8h7a5 5 0 0 1 1.2 9.85L23 24M10 18h7" />
          </svg>
          Reeve
        </Link>
        <Connection />
        <button type="button" class="menu" ref={menu} aria-expanded={open.value}
                aria-controls="navigation"
                onClick={() => { open.value = !open.value; }}>Menu</button>
      </div>
      <div id="navigation" class="navigation">
        <nav aria-label="Views">
          <ul>
            {views.map(([href, name]) => (
              <li key={href}>
                <Link href={href} current={here === href}>
                  <svg viewBox="0 0 16 16" width="16" height="16"
                       aria-hidden="true"><path d={icons[href]!} /></svg>
                  {name}
                  <Hint view={href} />
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div class="foot">
          {stats.value && <p class="quiet node">Node <Text class="one-line"
            value={stats.value.node} /></p>}
          <label class="inline">Theme
            <select value={theme.value} onChange={(event) =>
              chooseTheme(event.currentTarget.value as Theme)}>
              <option value="system">System</option>
              <option value="light">Light</option>
              <option value="dark">Dark</option>
            </select>
          </label>
          {hasKey.value && <button type="button" class="plain"
            onClick={() => setKey(null)}>Sign out</button>}
        </div>
      </div>
    </header>
  );
}

function Hint(props: { view: string }): JSX.Element | null {
  const n = props.view === "/failures" ? stats.value?.jobs.FAILED ?? 0
    : props.view === "/types"
      ? (types.value ?? []).filter((x) => x.paused).length
    : props.view === "/providers"
      ? (lanes.value ?? []).filter((x) => x.state !== "open").length
    : 0;
  if (n === 0)
    return null;
  const what = props.view === "/failures" ? "failed"
    : props.view === "/types" ? "paused" : "not open";
  return <span class="pill">{shortCount(n)}
    <span class="offscreen"> {what}</span></span>;
}

function Connection(): JSX.Element {
  const state = connection.value;
  const text = state === "live" ? "Live"
    : state === "connecting" ? "Connecting"
    : state === "away" ? "Reconnecting" : "Offline";
  return (
    <span class={`connection ${state}`} role="status"
          title={state === "away"
            ? "The node does not answer. This page goes on trying." : text}>
      <i />{text}
    </span>
  );
}

start();
render(<App />, document.getElementById("app")!);
