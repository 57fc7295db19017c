// format.test.ts -- numbers, times and texts of strangers.
import assert from "node:assert/strict";
import { test } from "node:test";

import {
  bytes, duration, plural, rate, relative, shortCount, shortDuration, shortId,
  visible,
} from "../src/format";

test("durations have the two units that matter", () => {
  const cases: [number, string][] = [
    [-1, "0 s"], [NaN, "0 s"], [0, "0 ms"], [0.0421, "42 ms"],
    [0.9994, "999 ms"], [0.9996, "0.9 s"], [1, "1.0 s"], [9.99, "9.9 s"], [10.9, "10 s"],
    [59.9, "59 s"], [60, "1 min"], [61, "1 min 1 s"], [3599, "59 min 59 s"],
    [3600, "1 h"], [7260, "2 h 1 min"], [86_400, "1 d"],
    [90_000, "1 d 1 h"],
  ];
  for (const [seconds, text] of cases)
    assert.equal(duration(seconds), text);
});

test("times are told from now, in both directions", () => {
  const now = Date.UTC(2026, 0, 1);
  assert.equal(relative(now - 1_900, now), "just now");
  assert.equal(relative(now + 1_900, now), "just now");
  assert.equal(relative(now - 2_000, now), "2 s ago");
  assert.equal(relative(now - 119_000, now), "1 min ago");
  assert.equal(relative(now + 7_200_000, now), "in 2 h");
  assert.equal(relative(now - 3 * 86_400_000, now), "3 d ago");
  assert.equal(shortDuration(59), "59s");
  assert.equal(shortDuration(7_300), "2h");
});

test("numbers are short where there is no room", () => {
  assert.equal(shortCount(9_999), "9,999");
  assert.equal(shortCount(100_000), "100K");
  assert.equal(rate(0.25), "0.3");
  assert.equal(rate(12), "12");
  assert.equal(rate(1234.5), "1,235");
  assert.equal(bytes(1023), "1023 B");
  assert.equal(bytes(1536), "1.5 KiB");
  assert.equal(plural(1, "job"), "1 job");
  assert.equal(plural(1_200, "job"), "1,200 jobs");
  assert.equal(shortId("01900000-0000-7000-8000-0000deadbeef"), "…deadbeef");
});

test("what nobody can see is spelled out", () => {
  assert.equal(visible("a\u202ebc\u2066d\u0000\u001b[31m\u200b\ufeff"),
               "a\\u202ebc\\u2066d\\u0000\\u001b[31m\\u200b\\ufeff");
  assert.equal(visible("lines\n\tand טקסט <b>\u0301"),
               "lines\n\tand טקסט <b>\u0301");
});
