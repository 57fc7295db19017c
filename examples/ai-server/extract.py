"""Summary, tags and embedding of a text: plain Python, no model, no network.

An extract, not an understanding: sentences are picked by how often their
words occur, tags are the words that occur most, and the embedding hashes
words and parts of words into a vector of length 1.
"""

import hashlib
import math
import re
import unicodedata
from collections import Counter

DIMENSION = 256
MAX_SENTENCES = 3
MAX_SUMMARY = 600
MAX_TAGS = 5

# What a text is about shows at its beginning, and a request must not take long.
MAX_ANALYSED = 100_000

STOP_WORDS = frozenset(
    """a about after again all also an and any are as at away be because been
    before being between both but by can could did do does down each even every
    few first for from had has have he her his how i if in into is it its just
    last later like long made make many may more most much must near new next no
    not now of off often old on once one only or other our out over own same
    she since so some such than that the their them then there these they this
    those through to too two under until up us was we well were what when where
    which while who whose why will with without would year years you your
    그 그것 그것은 그러나 그런 그리고 그래서 것 것은 것을 것이 것이다 같은 거의 가장 다른 다시
    대한 대해 동안 되는 된다 등 때 때문 때문에 또 또는 또한 많은 매우 모두 모든 및 뿐 수 않고
    않는 않는다 않은 어떤 여러 오늘날 우리 위해 이 이것 이것은 이런 이렇게 이후 있는 있다 없는
    없다 아니라 하고 하나 하나의 하는 하며 하여 하지만 한 한다 함께 훨씬 넣고 놓고 뜨는 만드는
    """.split())

# Longer ones first.
PARTICLES = sorted(
    """은 는 이 가 을 를 의 에 도 만 로 와 과 에서 에게 으로 까지 부터 처럼 보다 에는 에도 에서는
    에서도 으로는 까지는 부터는 에게는 이라는 라는 이라고 라고 과의 와의 과는 와는 이며 이다""".split(),
    key=len, reverse=True)


def sentences(text):
    """The sentences of a text, each in one line."""
    result = []
    for paragraph in re.split(r"\n\s*\n", text):
        line = " ".join(paragraph.split())
        # Not behind an initial or a short title such as `Dr.`.
        parts = re.split(
            r"(?<=[.!?。！？…])(?<!\b[A-Z]\.)(?<!\b[DMS]r\.)[\"'”’)\]]*\s+",
            line)
        result.extend(part for part in parts if part)
    return result


def base(word):
    """A word without an English plural ending or a Korean particle."""
    if re.fullmatch(r"[a-z]+", word):
        if len(word) > 3 and re.search(r"[^suie]s$", word):
            return word[:-1]
        if len(word) > 4 and word.endswith("ies"):
            return word[:-3] + "y"
        if len(word) > 3 and re.search(r"[^shxz]es$", word):
            return word[:-1]
        return word
    if re.search(r"[가-힣]$", word):
        for particle in PARTICLES:
            if word.endswith(particle) and len(word) - len(particle) >= 2:
                return word[:-len(particle)]
    return word


def terms(text):
    """The base forms of all words but the commonest, in order."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFKC", text).lower())
    return [base(word) for word in words
            if word not in STOP_WORDS and base(word) not in STOP_WORDS]


def summarize(text):
    """Up to three sentences of the text in their order."""
    found = sentences(text)
    if not found:
        return ""
    bags = [set(terms(sentence)) for sentence in found]
    weights = Counter(term for sentence in found for term in terms(sentence))
    weights = {term: math.sqrt(count) for term, count in weights.items()}
    opening = next((i for i, sentence in enumerate(found)
                    if is_terminated(sentence)), 0)

    def score(i):
        value = sum(weights[term] for term in bags[i])
        value /= math.sqrt(len(bags[i]) + 6)
        if not is_terminated(found[i]):
            value /= 4
        return value * (1.4 if i == opening else 1)

    chosen = []
    left = MAX_SUMMARY
    wanted = max(1, min(MAX_SENTENCES, (len(found) + 1) // 2))
    while len(chosen) < wanted:
        fitting = [i for i in range(len(found))
                   if i not in chosen and len(found[i]) <= left]
        if not fitting:
            break
        best = max(fitting, key=lambda i: (score(i), -i))
        chosen.append(best)
        left -= len(found[best]) + 1
        # What has been said counts less.
        for term in bags[best]:
            weights[term] /= 4
    if chosen:
        return " ".join(found[i] for i in sorted(chosen))
    best = max(range(len(found)), key=lambda i: (score(i), -i))
    return found[best][:MAX_SUMMARY - 1].rstrip() + "…"


def is_terminated(sentence):
    return sentence.rstrip("\"'”’)]").endswith((".", "!", "?", "。", "…"))


def tags(text, title):
    """Up to five words the text is about, best first."""
    counts = Counter(terms(text))
    for term in set(terms(title)):
        counts[term] += 3
    return [term for term, _ in counts.most_common() if is_tag(term)][:MAX_TAGS]


def is_tag(term):
    if not term[0].isalpha() or len(term) > 40:
        return False
    if re.search(r"[가-힣]$", term):
        # Most Korean words of three syllables that end so are verbs.
        return len(term) >= 2 and not re.search(r"..다$|하게$|하여$|되어$", term)
    return len(term) >= (3 if term.isascii() else 2)


def embed(text, title=""):
    """256 numbers whose squares add up to 1."""
    text = text[:MAX_ANALYSED]
    counts = Counter(terms(title + "\n" + text))
    features = []
    for term, count in counts.items():
        weight = count.bit_length()
        features.append(("w" + term, 5 * weight))
        marked = "<" + term + ">"
        features.extend(("t" + marked[i:i + 3], weight)
                        for i in range(len(marked) - 2))
    if not features:
        features.append(("r" + " ".join(text.split()), 1))
    buckets = [0] * DIMENSION
    for feature, weight in features:
        number = int.from_bytes(
            hashlib.blake2b(feature.encode(), digest_size=8).digest(), "little")
        buckets[number % DIMENSION] += -weight if number >> 63 else weight
    if not any(buckets):
        buckets[0] = 1
    length = math.sqrt(sum(x * x for x in buckets))
    return [x / length for x in buckets]


def analyze(text, title=""):
    text = text[:MAX_ANALYSED]
    return {
        "summary": summarize(text),
        "tags": tags(text, title),
        "embedding": embed(text, title),
    }
