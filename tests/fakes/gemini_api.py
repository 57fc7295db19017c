"""Gemini's generateContent of version v1beta, as documented at
ai.google.dev/api/generate-content and ai.google.dev/gemini-api/docs
(image-generation, troubleshooting, rate-limits; read in November 2026)."""

import base64
import hashlib

import pictures
import writing

STATUSES = {
    400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
    404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL",
    503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
}


def error(status, message, kind=None, details=None):
    return {"error": {"code": status, "message": message,
                      "status": kind or STATUSES.get(status, "UNKNOWN"),
                      **({"details": details} if details else {})}}


def retry_info(delay):
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": delay}


def bad_key():
    return error(400, "API key not valid. Please pass a valid API key.",
                 details=[{"@type": "type.googleapis.com/google.rpc.ErrorInfo",
                           "reason": "API_KEY_INVALID",
                           "domain": "googleapis.com"}])


def unknown(name, where):
    return 400, ("Invalid JSON payload received. Unknown name \"%s\"%s: "
                 "Cannot find field." % (name, where))


def check(headers, request, model):
    """(status, message) of what is wrong with it but for the key, or None."""
    if headers.get_content_type() != "application/json":
        return 400, "Invalid JSON payload received."
    for name in request:
        if name not in ("contents", "generationConfig", "systemInstruction",
                        "safetySettings"):
            return unknown(name, "")
    contents = request.get("contents")
    if not isinstance(contents, list) or not contents:
        return 400, ("* GenerateContentRequest.contents: contents is not "
                     "specified")
    for content in contents:
        if not isinstance(content, dict):
            return 400, "Invalid value at 'contents[0]'"
        for name in content:
            if name not in ("role", "parts"):
                return unknown(name, " at 'contents[0]'")
        if content.get("role", "user") not in ("user", "model"):
            return 400, "Please use a valid role: user, model."
        parts = content.get("parts")
        if (not isinstance(parts, list) or not parts
                or not all(isinstance(x, dict) and set(x) == {"text"}
                           and isinstance(x["text"], str) for x in parts)):
            return 400, "contents.parts must not be empty."
    config = request.get("generationConfig", {})
    for name in config:
        if name not in ("responseModalities", "imageConfig", "temperature",
                        "maxOutputTokens", "seed"):
            return unknown(name, " at 'generation_config'")
    modalities = config.get("responseModalities", ["TEXT"])
    if not set(modalities) <= {"TEXT", "IMAGE", "AUDIO"}:
        return 400, "Invalid value at 'generation_config.response_modalities'"
    if model.startswith("no-such-"):
        return 404, ("models/%s is not found for API version v1beta, or is not "
                     "supported for generateContent." % model)
    return None


def prompt_of(request):
    return "\n".join(part["text"] for content in request["contents"]
                     for part in content["parts"])


def answer(out, request, fault, model, call):
    """Writes the answer to a request that passed the check."""
    prompt = prompt_of(request)
    counts = {"promptTokenCount": writing.tokens(prompt)}
    base = {"modelVersion": model, "responseId": "fake"}
    if fault["kind"] == "wrong_json":
        out.bytes(200, b'{"candidates": [', "application/json")
        return
    if fault["kind"] == "refusal" and fault.get("prompt"):
        out.json(200, {**base, "promptFeedback": {
            "blockReason": "PROHIBITED_CONTENT"},
            "usageMetadata": {**counts, "totalTokenCount": sum(
                counts.values())}})
        return
    # Another picture with each call, so that a second call can be told from
    # the first.
    picture = pictures.png("%d %s" % (call["n"], prompt))
    if fault["kind"] == "wrong_image_type":
        picture = pictures.WRONG[fault.get("bytes", "svg")]
    parts = [
        {"text": "A sketch.", "thought": True},
        {"inlineData": {"mimeType": "image/png", "data": base64.b64encode(
            pictures.png("sketch")).decode()}, "thought": True},
        {"text": "Here is the picture."},
        {"inlineData": {"mimeType": "image/png",
                        "data": base64.b64encode(picture).decode()}},
    ]
    reason = "STOP"
    modalities = request.get("generationConfig", {}).get(
        "responseModalities", ["TEXT"])
    if "IMAGE" not in modalities or fault["kind"] in ("empty_page",
                                                      "empty_text"):
        parts = parts[2:3]
    elif fault["kind"] == "refusal":
        parts, reason = [], "IMAGE_SAFETY"
    elif fault["kind"] == "max_tokens":
        parts, reason = parts[2:3], "MAX_TOKENS"
    else:
        call["image"] = hashlib.sha256(picture).hexdigest()
    counts["candidatesTokenCount"] = 1290 if len(parts) > 2 else 7
    out.json(200, {
        **base,
        "candidates": [{"index": 0, "finishReason": reason,
                        "content": {"role": "model", "parts": parts}}],
        "usageMetadata": {**counts, "totalTokenCount": sum(counts.values())},
    })
