// sse.ts -- server-sent events out of chunks of text (WHATWG HTML, 9.2). Pure.

export interface ServerEvent {
  name: string;
  data: string;
  id: string | null;
}

export class EventParser {
  #rest = "";
  #name = "";
  #data: string[] = [];
  #id: string | null = null;

  /// The events that are complete with this chunk.
  push(chunk: string): ServerEvent[] {
    const result: ServerEvent[] = [];
    const lines = (this.#rest + chunk).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines)
      this.#line(line, result);
    return result;
  }

  #line(line: string, out: ServerEvent[]): void {
    if (line === "") {
      if (this.#data.length > 0)
        out.push({
          name: this.#name || "message",
          data: this.#data.join("\n"),
          id: this.#id,
        });
      this.#name = "";
      this.#data = [];
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0)
      return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event")
      this.#name = value;
    else if (field === "data")
      this.#data.push(value);
    else if (field === "id")
      this.#id = value;
  }
}
