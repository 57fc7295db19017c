# tests/e2e/book_shop.py -- what the tests of books share: ordering one, whether
# the accounts add up, and the providers that write and draw.
import re

from fake_providers import FakeProviders
from faults import wait_until
from harness import Database, Node, NodeTest, Response, quote, run_reeve

__all__ = ["BOOK", "PAGE", "REDRAW", "BookProviders", "BookTest",
           "assert_ledger", "price_of"]

PICTURE = re.compile(r"Illustration for page (\d+) of ")

# The default prices, in tokens.
BOOK, PAGE, REDRAW = 10, 5, 5


def price_of(pages: int) -> int:
    return BOOK + PAGE * pages


def assert_ledger(test, database: Database):
    """The invariants of design section 9, by the store's own rows."""
    text = "{}" if database.store == "sqlite" else "{}::text"
    jobs = {row[0]: (row[1], int(row[2])) for row in database.sql(
        f"SELECT {text.format('j.id')}, v.status, j.price FROM job j "
        "JOIN jobs v ON v.seq = j.seq WHERE j.price > 0")}
    sums = {row[0]: (int(row[1]), int(row[2]), int(row[3]))
            for row in database.sql(
        f"SELECT {text.format('job_id')}, sum(amount), "
        "sum(CASE kind WHEN 'charge' THEN 1 ELSE 0 END), "
        "sum(CASE kind WHEN 'refund' THEN 1 ELSE 0 END) "
        "FROM ledger WHERE job_id IS NOT NULL GROUP BY job_id")}
    test.assertEqual(set(jobs), set(sums))
    for job_id, (status, price) in jobs.items():
        total, charges, refunds = sums[job_id]
        with test.subTest(job=job_id, status=status):
            refunded = status in ("FAILED", "CANCELLED")
            test.assertEqual(total, 0 if refunded else -price)
            test.assertEqual(refunds, charges if refunded else charges - 1)
    wrong = database.sql(
        "SELECT a.user_id, a.balance, sum(l.amount) FROM accounts a "
        "LEFT JOIN ledger l ON l.user_id = a.user_id "
        "GROUP BY a.user_id, a.balance "
        "HAVING a.balance <> coalesce(sum(l.amount), 0) OR a.balance < 0")
    test.assertEqual(wrong, [])


class BookProviders(FakeProviders):
    """A call is `messages` for a text and `gemini` for a picture."""

    @property
    def options(self) -> dict:
        """Settings of a node that uses it for texts and pictures."""
        return {"text.provider": "anthropic", "text.url": self.url,
                "text.api-key": self.api_key, "text.model": "claude-fake",
                "image.provider": "gemini", "image.url": self.url,
                "image.api-key": self.api_key, "image.model": "gemini-fake"}

    def fault(self, **fields):
        """One more fault that is due."""
        self.add_faults(fields)

    def no_faults(self):
        self.set_faults()

    def calls(self, api: str | None = None,
              page: int | None = None) -> list[dict]:
        """Oldest first; `page` is that of a picture."""
        return [x for x in super().calls(api)
                if page in (None, self.page_of(x))]

    @staticmethod
    def page_of(call: dict) -> int | None:
        found = PICTURE.search(call["prompt"])
        return int(found.group(1)) if found else None

    def count(self, api: str, page: int | None = None) -> int:
        return len(self.calls(api, page))

    def wait_for_call(self, api: str, page: int | None = None,
                      count: int = 1) -> dict:
        """The `count`-th such call, which may still be under way."""
        wait_until(lambda: self.count(api, page) >= count,
                   f"call {count} of {api} {page or ''}")
        return self.calls(api, page)[count - 1]


class BookTest(NodeTest):
    """Orders books, as `local` unless a user is named."""

    def grant(self, node: Node, tokens: int, user: str = "local") -> int:
        done = run_reeve("accounts", "grant", user, str(tokens),
                         "--database.url=" + node.database.url)
        self.assertEqual(done.returncode, 0, done)
        return int(done.stdout)

    def account(self, node: Node, user: str = "local") -> dict:
        return node.get("/api/account?user_id=" + quote(user)).json

    def balance(self, node: Node, user: str = "local") -> int:
        return self.account(node, user)["balance"]

    def order(self, node: Node, pages: int = 2, headers: dict | None = None,
              **fields) -> Response:
        return node.post("/api/generate", {
            "title": "The Fox", "prompt": "a fox that learns to swim",
            "pages": pages, **fields}, headers)

    def ordered(self, node: Node, pages: int = 2, **fields) -> dict:
        """As `order`; the answer's body. Grants what is needed before."""
        self.grant(node, price_of(pages), fields.get("user_id", "local"))
        answer = self.order(node, pages, **fields)
        self.assertEqual(answer.status, 202, answer)
        return answer.json

    def content(self, node: Node, content_id: str) -> dict:
        answer = node.get("/api/contents/" + content_id)
        self.assertEqual(answer.status, 200, answer)
        return answer.json

    def image(self, node: Node, content_id: str, page: int,
              headers: dict | None = None, method: str = "GET") -> Response:
        return node.request(
            method, f"/api/contents/{content_id}/pages/{page}/image",
            headers=headers)

    def pause(self, node: Node, *types: str):
        for name in types:
            answer = node.post(f"/api/types/{name}/pause",
                               {"reason": "by the test"})
            self.assertEqual(answer.status, 200, answer)

    def resume(self, node: Node, *types: str):
        for name in types:
            answer = node.post(f"/api/types/{name}/resume")
            self.assertEqual(answer.status, 200, answer)

    def entries_of(self, node: Node, job_id: str, user: str = "local") -> list:
        """Kinds and amounts, oldest first."""
        return [(x["kind"], x["amount"])
                for x in reversed(self.account(node, user)["entries"])
                if x["job_id"] == job_id]
