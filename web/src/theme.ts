// theme.ts -- light, dark, or what the system says.
import { computed, signal } from "@preact/signals";

export type Theme = "system" | "light" | "dark";

const name = "reeve.theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const systemIsDark = signal(system.matches);
system.addEventListener("change", () => {
  systemIsDark.value = system.matches;
});

export const theme = signal<Theme>(readTheme());
export const isDark = computed(() =>
  theme.value === "dark" || (theme.value === "system" && systemIsDark.value));

function readTheme(): Theme {
  const set = document.documentElement.dataset["theme"];
  return set === "light" || set === "dark" ? set : "system";
}

export function chooseTheme(next: Theme): void {
  if (next === "system")
    delete document.documentElement.dataset["theme"];
  else
    document.documentElement.dataset["theme"] = next;
  theme.value = next;
  try {
    localStorage.setItem(name, next);
  } catch {
    // Holds for this page only, then.
  }
}
