"""An analysis server as Reeve's `analysis-server` provider expects one.

    python3 -m uvicorn app:app --host 127.0.0.1 --port 8000

Replace `extract.analyze` and `extract.embed` by calls of real models and keep the
rest.
"""

from typing import List, Optional

from fastapi import FastAPI, HTTPException
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field

import extract

MODEL = "example-extractive-1"
MAX_TEXT = 1_000_000
# A character takes six bytes at most, as in `\ud55c`.
MAX_BODY_BYTES = 8 * 1024 * 1024
# Who sends more than this is cut off before the end.
MAX_DISCARDED_BYTES = 64 * 1024 * 1024


class AnalyzeRequest(BaseModel):
    text: str = Field(..., min_length=1, max_length=MAX_TEXT)
    title: Optional[str] = Field(None, max_length=1_000)
    url: Optional[str] = Field(None, max_length=4_000)


class AnalyzeResponse(BaseModel):
    summary: str
    tags: List[str]
    embedding: List[float]
    model: str


class EmbedRequest(BaseModel):
    text: str = Field(..., min_length=1, max_length=MAX_TEXT)


class EmbedResponse(BaseModel):
    embedding: List[float]
    model: str


class BodyLimit:
    """Answers 413 to a body that is too large, and keeps no more of it."""

    def __init__(self, app, limit):
        self.app = app
        self.limit = limit

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # The body is read to its end before the answer: a client that is
        # still sending would see a reset connection instead of the 413.
        body = []
        size = 0
        more = True
        while more and size <= MAX_DISCARDED_BYTES:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            part = message.get("body", b"")
            more = message.get("more_body", False)
            size += len(part)
            if size <= self.limit:
                body.append(part)
        if size > self.limit:
            response = JSONResponse(
                {"detail": "the body has more than %d bytes" % self.limit},
                413, headers={"Connection": "close"})
            await response(scope, receive, send)
            return
        unread = [{"type": "http.request", "body": b"".join(body),
                   "more_body": False}]

        async def replay():
            return unread.pop() if unread else await receive()

        await self.app(scope, replay, send)


app = FastAPI(title="Example analysis server", docs_url=None, redoc_url=None)
app.add_middleware(BodyLimit, limit=MAX_BODY_BYTES)


@app.exception_handler(RequestValidationError)
async def invalid(_, err):
    # Where and what, but not `input`: errors end up in logs, texts must not.
    detail = [{key: error[key] for key in ("loc", "msg", "type")}
              for error in err.errors()]
    return JSONResponse({"detail": detail}, 422)


def usable(text):
    """A half of a surrogate pair is legal in JSON, but nowhere else."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def visible(text):
    text = usable(text)
    if not any(c.isprintable() and not c.isspace() for c in text):
        raise HTTPException(422, "there is nothing to analyse in the text")
    return text


# Not `async`: the work would keep the event loop from answering others.
@app.post("/analyze", response_model=AnalyzeResponse)
def analyze(request: AnalyzeRequest):
    text = visible(request.text)
    return {**extract.analyze(text, usable(request.title or "")),
            "model": MODEL}


@app.post("/embed", response_model=EmbedResponse)
def embed(request: EmbedRequest):
    # The same as for a card of this text, so that they can be compared.
    return {"embedding": extract.embed(visible(request.text)), "model": MODEL}


@app.get("/healthz")
def healthz():
    return {"status": "ok", "model": MODEL}
