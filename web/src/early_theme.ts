// early_theme.ts -- runs before the first paint: a page that is to be dark
// must not flash.
try {
  const chosen = localStorage.getItem("reeve.theme");
  if (chosen === "light" || chosen === "dark")
    document.documentElement.dataset.theme = chosen;
} catch {
  // No storage: the system's scheme it is.
}
