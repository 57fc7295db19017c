"""What the fake text models write: a book as Reeve asks for it, or an entry."""

import json
import re


def line(prompt, label):
    found = re.search(r"^%s:\s*(.*)$" % label, prompt, re.MULTILINE)
    return found.group(1).strip() if found else None


def book(title, pages, idea, fault):
    result = []
    for page in range(1, pages + 1):
        result.append({
            "text": "Page %d of %s. The fox walks on, past %s."
                    % (page, title, idea[:60]),
            "image_prompt": "A fox on page %d of %s, watercolour"
                            % (page, title),
        })
    if fault["kind"] == "empty_page":
        result[min(fault.get("page", 2), pages) - 1]["text"] = ""
    return json.dumps({"pages": result}, ensure_ascii=False)


def compose(system, prompt, fault):
    """The text for a request, as its fault wants it."""
    if fault["kind"] == "empty_text":
        return ""
    if fault["kind"] == "wrong_text":
        return "Once upon a time there was no JSON at all."
    if "task: book" in system.split("\n"):
        pages = int(line(prompt, "pages") or 1)
        return book(line(prompt, "title") or "a book", pages,
                    line(prompt, "idea") or "a hill", fault)
    words = len(prompt.split())
    return ("This was written by a fake. The prompt has %d words and begins "
            "with: %s" % (words, " ".join(prompt.split()[:12])))


def pieces(text, size=24):
    return [text[i:i + size] for i in range(0, len(text), size)]


def tokens(text):
    """About four characters a token, as the providers say."""
    return len(text) // 4 + 1
