// router.tsx -- every view has an address; the node answers the page for it.
import { computed, signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";

interface Address {
  path: string;
  query: string;
}

const here = signal<Address>(readAddress());

export const path = computed(() => here.value.path);
export const query = computed(() => new URLSearchParams(here.value.query));

function readAddress(): Address {
  return { path: location.pathname, query: location.search };
}

addEventListener("popstate", () => {
  here.value = readAddress();
});

export function navigate(to: string, replace = false): void {
  if (replace)
    history.replaceState(null, "", to);
  else
    history.pushState(null, "", to);
  const before = here.value.path;
  here.value = readAddress();
  if (here.value.path !== before) {
    scrollTo(0, 0);
    // Readers of the screen hear where they are; the keyboard goes on there.
    requestAnimationFrame(() => document.getElementById("main")?.focus());
  }
}

/// Changes parameters of the address; empty ones go.
export function setQuery(changes: Record<string, string | null>,
                         replace = false): void {
  const next = new URLSearchParams(here.value.query);
  for (const [name, value] of Object.entries(changes))
    if (value)
      next.set(name, value);
    else
      next.delete(name);
  const text = next.toString();
  navigate(here.value.path + (text ? `?${text}` : ""), replace);
}

interface LinkProps {
  href: string;
  class?: string;
  title?: string;
  current?: boolean;
  label?: string;
  children: ComponentChildren;
}

export function Link(props: LinkProps): JSX.Element {
  const onClick = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey
        || event.altKey)
      return;
    event.preventDefault();
    navigate(props.href);
  };
  return (
    <a href={props.href} class={props.class} title={props.title}
       aria-label={props.label}
       aria-current={props.current ? "page" : undefined} onClick={onClick}>
      {props.children}
    </a>
  );
}
