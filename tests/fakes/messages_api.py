"""Anthropic's Messages API, as documented at platform.claude.com/docs/en/api
(messages, messages-streaming, errors, rate-limits; anthropic-version
2023-06-01, read in November 2026)."""

import datetime
import json

import writing

TYPES = {
    400: "invalid_request_error", 401: "authentication_error",
    402: "billing_error", 403: "permission_error", 404: "not_found_error",
    413: "request_too_large", 429: "rate_limit_error", 500: "api_error",
    504: "timeout_error", 529: "overloaded_error",
}
FIELDS = {"model", "max_tokens", "messages", "system", "stream", "metadata",
          "stop_sequences", "temperature", "top_k", "top_p", "service_tier",
          "thinking", "tools", "tool_choice"}


def error(status, message, kind=None):
    return {"type": "error",
            "error": {"type": kind or TYPES.get(status, "api_error"),
                      "message": message},
            "request_id": "req_fake"}


def is_text(content):
    if isinstance(content, str):
        return content != ""
    return (isinstance(content, list) and content
            and all(isinstance(x, dict) and x.get("type") == "text"
                    and isinstance(x.get("text"), str) and x["text"]
                    for x in content))


def check(headers, request, key):
    """(status, message) of what is wrong, or None."""
    if not headers.get("x-api-key"):
        return 401, "x-api-key header is required"
    if headers["x-api-key"] != key:
        return 401, "invalid x-api-key"
    if not headers.get("anthropic-version"):
        return 400, "anthropic-version: header is required"
    if headers["anthropic-version"] != "2023-06-01":
        return 400, "anthropic-version: not a valid version"
    if headers.get_content_type() != "application/json":
        return 400, "content-type: must be application/json"
    for name in ("model", "max_tokens", "messages"):
        if name not in request:
            return 400, name + ": Field required"
    for name in request:
        if name not in FIELDS:
            return 400, name + ": Extra inputs are not permitted"
    if type(request["max_tokens"]) is not int or request["max_tokens"] < 1:
        return 400, "max_tokens: Input should be greater than or equal to 1"
    if not isinstance(request.get("stream", False), bool):
        return 400, "stream: Input should be a valid boolean"
    if "system" in request and not is_text(request["system"]):
        return 400, "system: text content blocks must be non-empty"
    messages = request["messages"]
    if not isinstance(messages, list) or not messages:
        return 400, "messages: at least one message is required"
    for i, message in enumerate(messages):
        if (not isinstance(message, dict)
                or set(message) != {"role", "content"}
                or message["role"] not in ("user", "assistant")):
            return 400, "messages.%d: Input should be a valid message" % i
        if not is_text(message["content"]):
            return 400, ("messages.%d: user messages must have non-empty "
                         "content" % i)
    if not isinstance(request["model"], str):
        return 400, "model: Input should be a valid string"
    if request["model"].startswith("no-such-"):
        return 404, "model: " + request["model"]
    return None


def text_of(content):
    if isinstance(content, str):
        return content
    return "\n".join(x["text"] for x in content)


def prompt_of(request):
    return "\n".join(text_of(x["content"]) for x in request["messages"])


def limit_headers():
    full = (datetime.datetime.now(datetime.timezone.utc)
            + datetime.timedelta(seconds=60)).strftime("%Y-%m-%dT%H:%M:%SZ")
    result = []
    for name, limit in (("requests", 4000), ("tokens", 4800000),
                        ("input-tokens", 4000000), ("output-tokens", 800000)):
        result += [("anthropic-ratelimit-%s-limit" % name, str(limit)),
                   ("anthropic-ratelimit-%s-remaining" % name,
                    str(limit - 1)),
                   ("anthropic-ratelimit-%s-reset" % name, full)]
    return result


def answer(out, request, fault):
    """Writes the answer to a request that passed the check."""
    system = text_of(request.get("system", ""))
    prompt = prompt_of(request)
    text = writing.compose(system, prompt, fault)
    reason = {"refusal": "refusal", "max_tokens": "max_tokens"}.get(
        fault["kind"], "end_turn")
    if reason != "end_turn":
        text = text[:len(text) // 2]
    # Cached input is counted apart.
    usage = {"input_tokens": writing.tokens(prompt),
             "cache_creation_input_tokens": 0,
             "cache_read_input_tokens": writing.tokens(system)}
    message = {"id": "msg_fake", "type": "message", "role": "assistant",
               "model": request["model"], "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": {**usage, "output_tokens": 1}}
    produced = writing.tokens(text)
    if not request.get("stream"):
        message.update(content=[{"type": "text", "text": text}],
                       stop_reason=reason,
                       usage={**usage, "output_tokens": produced})
        out.json(200, message, limit_headers())
        return
    out.begin_stream(limit_headers())

    def event(kind, **data):
        out.stream("event: %s\ndata: %s\n\n"
                   % (kind, json.dumps({"type": kind, **data})))

    event("message_start", message=message)
    event("content_block_start", index=0,
          content_block={"type": "text", "text": ""})
    event("ping")
    parts = writing.pieces(text)
    for i, piece in enumerate(parts):
        if fault["kind"] == "error_event" and i == fault.get("after", 2):
            break
        event("content_block_delta", index=0,
              delta={"type": "text_delta", "text": piece})
        if fault["kind"] == "wrong_json" and i == 0:
            out.stream("event: content_block_delta\ndata: {\"type\": \n\n")
        out.pause()
    if fault["kind"] == "error_event":
        event("error", error={"type": fault.get("type", "overloaded_error"),
                              "message": fault.get("message", "Overloaded")})
        out.end_stream()
        return
    # Added now and then; readers must skip what they do not know.
    event("some_new_event", data=[1, 2])
    event("content_block_stop", index=0)
    event("message_delta", delta={"stop_reason": reason,
                                  "stop_sequence": None},
          usage={"output_tokens": produced})
    event("message_stop")
    out.end_stream()
