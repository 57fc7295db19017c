"""OpenAI's chat completions, as documented at platform.openai.com/docs
(api-reference/chat of version 2.3.0, guides/rate-limits and error-codes, read
in November 2026)."""

import json

import writing

TYPES = {
    400: "invalid_request_error", 401: "invalid_request_error",
    403: "invalid_request_error", 404: "invalid_request_error",
    429: "requests", 500: "server_error", 503: "server_error",
}
CODES = {401: "invalid_api_key", 404: "model_not_found",
         429: "rate_limit_exceeded"}
FIELDS = {"model", "messages", "max_tokens", "max_completion_tokens", "stream",
          "stream_options", "temperature", "top_p", "n", "stop", "seed",
          "user", "response_format"}


def error(status, message, code=None):
    return {"error": {"message": message,
                      "type": code or TYPES.get(status, "server_error"),
                      "param": None, "code": code or CODES.get(status)}}


def check(headers, request, key):
    """(status, message) of what is wrong, or None. As with servers of local
    models, a key may be missing, but not be wrong."""
    given = headers.get("Authorization")
    if given is not None and given != "Bearer " + key:
        return 401, "Incorrect API key provided."
    if headers.get_content_type() != "application/json":
        return 400, "Invalid content type"
    for name in request:
        if name not in FIELDS:
            return 400, "Unrecognized request argument supplied: " + name
    if not isinstance(request.get("model"), str) or not request["model"]:
        return 400, "you must provide a model parameter"
    messages = request.get("messages")
    if not isinstance(messages, list) or not messages:
        return 400, "'messages' is a required property"
    for i, message in enumerate(messages):
        if (not isinstance(message, dict)
                or message.get("role") not in ("system", "user", "assistant")
                or not isinstance(message.get("content"), str)):
            return 400, "Invalid value: messages[%d]" % i
    limit = request.get("max_tokens", 1)
    if type(limit) is not int or limit < 1:
        return 400, "Invalid 'max_tokens': integer below minimum value"
    if "stream_options" in request and not request.get("stream"):
        return 400, ("The 'stream_options' parameter is only allowed when "
                     "'stream' is enabled.")
    if request["model"].startswith("no-such-"):
        return 404, "The model `%s` does not exist" % request["model"]
    return None


def prompt_of(request):
    return "\n".join(x["content"] for x in request["messages"]
                     if x["role"] != "system")


def limit_headers():
    return [("x-ratelimit-limit-requests", "10000"),
            ("x-ratelimit-remaining-requests", "9999"),
            ("x-ratelimit-reset-requests", "6ms"),
            ("x-ratelimit-limit-tokens", "2000000"),
            ("x-ratelimit-remaining-tokens", "1999000"),
            ("x-ratelimit-reset-tokens", "1m0.5s")]


def answer(out, request, fault):
    """Writes the answer to a request that passed the check."""
    system = "\n".join(x["content"] for x in request["messages"]
                       if x["role"] == "system")
    prompt = prompt_of(request)
    text = writing.compose(system, prompt, fault)
    reason = {"refusal": "content_filter", "max_tokens": "length"}.get(
        fault["kind"], "stop")
    if reason != "stop":
        text = text[:len(text) // 2]
    usage = {"prompt_tokens": writing.tokens(system + prompt),
             "completion_tokens": writing.tokens(text)}
    usage["total_tokens"] = sum(usage.values())
    base = {"id": "chatcmpl-fake", "created": 0, "model": request["model"]}
    # A model of that name stands for a server that cannot stream.
    if not request.get("stream") or request["model"] == "no-streaming":
        out.json(200, {
            **base, "object": "chat.completion", "usage": usage,
            "choices": [{"index": 0, "finish_reason": reason,
                         "message": {"role": "assistant", "content": text}}],
        }, limit_headers())
        return
    out.begin_stream(limit_headers())

    def chunk(delta, reason=None):
        out.stream("data: %s\n\n" % json.dumps({
            **base, "object": "chat.completion.chunk", "usage": None,
            "choices": [{"index": 0, "delta": delta,
                         "finish_reason": reason}]}))

    chunk({"role": "assistant", "content": ""})
    for i, piece in enumerate(writing.pieces(text)):
        if fault["kind"] == "error_event" and i == fault.get("after", 2):
            break
        chunk({"content": piece})
        if fault["kind"] == "wrong_json" and i == 0:
            out.stream("data: {\"choices\": \n\n")
        out.pause()
    if fault["kind"] == "error_event":
        out.stream("data: %s\n\n" % json.dumps(
            error(500, fault.get("message", "The server had an error"),
                  fault.get("type"))))
        out.end_stream()
        return
    chunk({}, reason)
    if request.get("stream_options", {}).get("include_usage"):
        out.stream("data: %s\n\n" % json.dumps({
            **base, "object": "chat.completion.chunk", "choices": [],
            "usage": usage}))
    out.stream("data: [DONE]\n\n")
    out.end_stream()
