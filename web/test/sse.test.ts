// sse.test.ts -- events come in whatever pieces the network makes.
import assert from "node:assert/strict";
import { test } from "node:test";

import { EventParser, type ServerEvent } from "../src/sse";

const stream = ":\n\nevent: job\nid: 7\ndata: {\"a\":\ndata: 1}\n\n"
  + "retry: 1000\n\ndata:x\r\n\r\nevent: empty\n\nid: 8\ndata\n\n";

const expected: ServerEvent[] = [
  { name: "job", data: "{\"a\":\n1}", id: "7" },
  { name: "message", data: "x", id: "7" },
  { name: "message", data: "", id: "8" },
];

test("cut at every place it says the same", () => {
  assert.deepEqual(new EventParser().push(stream), expected);
  for (let i = 0; i <= stream.length; ++i) {
    const parser = new EventParser();
    assert.deepEqual(
      [...parser.push(stream.slice(0, i)), ...parser.push(stream.slice(i))],
      expected, `cut at ${i}`);
  }
  const parser = new EventParser();
  assert.deepEqual([...stream].flatMap((x) => parser.push(x)), expected);
});

test("an event that is not complete is not told", () => {
  const parser = new EventParser();
  assert.deepEqual(parser.push("event: job\ndata: 1\n"), []);
  assert.deepEqual(parser.push("\n"),
                   [{ name: "job", data: "1", id: null }]);
});
