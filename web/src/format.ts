// format.ts -- numbers, times and texts of strangers, as people read them. Pure.

const minute = 60;
const hour = 60 * minute;
const day = 24 * hour;

/// `850 ms`, `4.2 s`, `3 min 5 s`, `2 h 10 min`, `5 d 3 h`.
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0)
    return "0 s";
  if (seconds < 0.9995)
    return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10)
    return `${(Math.floor(seconds * 10) / 10).toFixed(1)} s`;
  if (seconds < minute)
    return `${Math.floor(seconds)} s`;
  const two = (large: number, a: string, small: number, b: string) => {
    const rest = Math.floor((seconds % large) / small);
    return `${Math.floor(seconds / large)} ${a}${rest ? ` ${rest} ${b}` : ""}`;
  };
  if (seconds < hour)
    return two(minute, "min", 1, "s");
  if (seconds < day)
    return two(hour, "h", minute, "min");
  return two(day, "d", hour, "h");
}

/// One unit, for charts and narrow places: `4s`, `3m`, `2h`, `5d`.
export function shortDuration(seconds: number): string {
  if (seconds < minute)
    return `${Math.floor(seconds)}s`;
  if (seconds < hour)
    return `${Math.floor(seconds / minute)}m`;
  if (seconds < day)
    return `${Math.floor(seconds / hour)}h`;
  return `${Math.floor(seconds / day)}d`;
}

/// `just now`, `12 s ago`, `in 5 min`.
export function relative(at: number, now: number): string {
  const seconds = (now - at) / 1000;
  const size = Math.abs(seconds);
  if (size < 2)
    return "just now";
  const coarse = size < minute ? `${Math.floor(size)} s`
    : size < hour ? `${Math.floor(size / minute)} min`
    : size < day ? `${Math.floor(size / hour)} h`
    : `${Math.floor(size / day)} d`;
  return seconds >= 0 ? `${coarse} ago` : `in ${coarse}`;
}

export function exact(at: number): string {
  const date = new Date(at);
  return `${date.toLocaleString(undefined, {
    dateStyle: "medium", timeStyle: "medium",
  })} (${date.toISOString()})`;
}

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const compact = new Intl.NumberFormat(
  "en", { notation: "compact", maximumFractionDigits: 1 });

export function count(x: number): string {
  return whole.format(x);
}

/// `9,812`, then `12.3K`.
export function shortCount(x: number): string {
  return Math.abs(x) < 10_000 ? whole.format(x) : compact.format(x);
}

/// A rate: two digits that matter.
export function rate(x: number): string {
  return x >= 100 || Number.isInteger(x) ? whole.format(x) : x.toFixed(1);
}

export function bytes(x: number): string {
  return x < 1024 ? `${x} B`
    : x < 1024 ** 2 ? `${(x / 1024).toFixed(1)} KiB`
    : `${(x / 1024 ** 2).toFixed(1)} MiB`;
}

/// The end of a UUID: version 7 begins with the time, which many share.
export function shortId(id: string): string {
  return id.length === 36 ? "…" + id.slice(-8) : id;
}

// Control characters but tab and line feed, and those that turn the direction
// of what follows them.
// eslint-disable-next-line no-control-regex
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069\ufeff]/g;

/// What nobody could see, spelled out: `\u202e`.
export function visible(text: string): string {
  return text.replace(unseen, (x) =>
    "\\u" + x.charCodeAt(0).toString(16).padStart(4, "0"));
}

export function plural(n: number, one: string, many = one + "s"): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

/// LIKE's own characters taken literally.
export function likeLiteral(text: string): string {
  return text.replace(/[\\%_]/g, (x) => "\\" + x);
}
