# tests/e2e/accounts.py -- `reeve accounts` and GET /api/account.
import os
import threading
import unittest

from harness import Database, NodeTest, both_stores, quote, run_reeve, time_of


@both_stores
class Accounts(NodeTest):
    def accounts(self, *args: str):
        return run_reeve("accounts", *args,
                         "--database.url=" + self.node.database.url)

    def grant(self, user: str, tokens: int, *args: str) -> int:
        done = self.accounts("grant", user, str(tokens), *args)
        self.assertEqual(done.returncode, 0, done)
        return int(done.stdout)

    def account(self, user: str) -> dict:
        return self.node.get("/api/account?user_id=" + quote(user)).json

    def test_an_account_nobody_used(self):
        self.assertEqual(self.account("nobody"), {
            "user_id": "nobody", "balance": 0, "entries": []})
        done = self.accounts("show", "nobody")
        self.assertEqual((done.returncode, done.stdout), (0, "balance 0\n"))

    def test_grants_add_up_newest_first(self):
        self.assertEqual(self.grant("kim", 100, "--note", "welcome 환영"), 100)
        self.assertEqual(self.grant("kim", 50), 150)
        self.assertEqual(self.grant("kim", -30, "--note=a mistake"), 120)
        found = self.account("kim")
        self.assertEqual((found["user_id"], found["balance"]), ("kim", 120))
        self.assertEqual(
            [(x["kind"], x["amount"], x["note"], x["job_id"])
             for x in found["entries"]],
            [("grant", -30, "a mistake", None), ("grant", 50, "", None),
             ("grant", 100, "welcome 환영", None)])
        times = [time_of(x["created_at"]) for x in found["entries"]]
        self.assertEqual(times, sorted(times, reverse=True))
        shown = self.accounts("show", "kim").stdout.splitlines()
        self.assertEqual(shown[0], "balance 120")
        self.assertEqual(len(shown), 5)
        self.assertIn("welcome 환영", shown[4])

    def test_never_below_zero(self):
        self.assertEqual(self.grant("poor", 10), 10)
        done = self.accounts("grant", "poor", "-11")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertTrue(done.stderr)
        done = self.accounts("grant", "nobody-else", "-1")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        self.assertEqual(self.account("poor")["balance"], 10)
        self.assertEqual(self.grant("poor", -10), 0)

    def test_users_do_not_mix(self):
        names = ["a", "A", "a ", "a%", "__", "' OR 1=1 --", "\u00e9", "e\u0301",
                 "x" * 200]
        for number, name in enumerate(names, 1):
            self.assertEqual(self.grant(name, number), number, name)
        for number, name in enumerate(names, 1):
            self.assertEqual(self.account(name)["balance"], number, name)

    def test_grants_at_once_all_count(self):
        results = []

        def one():
            results.append(self.grant("busy", 7))

        threads = [threading.Thread(target=one) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(results), [7, 14, 21, 28, 35, 42])
        self.assertEqual(self.account("busy")["balance"], 42)

    def test_wrong_commands(self):
        for args in ((), ("grant",), ("grant", "kim"), ("show",),
                     ("grant", "kim", "0"), ("grant", "kim", "1.5"),
                     ("grant", "kim", "ten"), ("grant", "kim", "0x10"),
                     ("grant", "kim", " 1"), ("grant", "kim", "+1"),
                     ("grant", "kim", "99999999999999999999"),
                     ("grant", "kim", "-99999999999999999999"),
                     ("grant", "", "1"), ("grant", "x" * 201, "1"),
                     ("grant", b"\xff", "1"), ("show", b"\xff"),
                     ("grant", "kim", "1", "2"),
                     ("grant", "kim", "1", "--note", "n" * 501),
                     ("grant", "kim", "1", "--nte=x"), ("take", "kim")):
            with self.subTest(args):
                done = self.accounts(*args)
                self.assertEqual((done.returncode, done.stdout), (2, ""),
                                 done)
                self.assertTrue(done.stderr)
        done = run_reeve("accounts", "show", "kim",
                         "--database.url=mysql://x")
        self.assertEqual(done.returncode, 2, done)

    def test_without_a_node(self):
        folder = self.node.folder + "/other"
        os.makedirs(folder, exist_ok=True)
        url = "--database.url=" + Database(self.store, folder).url
        done = run_reeve("accounts", "grant", "kim", "5", url)
        self.assertEqual((done.returncode, done.stdout), (0, "5\n"), done)
        done = run_reeve("accounts", "show", "kim", url)
        self.assertEqual(done.stdout.splitlines()[0], "balance 5")

    def test_queries(self):
        self.assertEqual(self.node.get("/api/account").json["user_id"],
                         "local")
        for query in ("?user_id=", "?user_id=" + "x" * 201, "?user=kim"):
            self.assert_problem(self.node.get("/api/account" + query), 400)


@both_stores
class Keys(NodeTest):
    options = {"auth.mode": "api-key"}

    def key(self, *args: str) -> dict:
        done = run_reeve("keys", "create", "--name=x", *args,
                         "--database.url=" + self.node.database.url)
        return {"Authorization": "Bearer " + done.stdout.strip()}

    def test_a_client_sees_its_own_account(self):
        kim = self.key("--role=client", "--user=kim")
        operator = self.key("--role=operator")
        run_reeve("accounts", "grant", "kim", "9",
                  "--database.url=" + self.node.database.url)
        for path in ("/api/account", "/api/account?user_id=kim"):
            found = self.node.get(path, kim).json
            self.assertEqual((found["user_id"], found["balance"]), ("kim", 9))
        self.assert_problem(self.node.get("/api/account?user_id=lee", kim),
                            403)
        found = self.node.get("/api/account?user_id=kim", operator).json
        self.assertEqual(found["balance"], 9)
        self.assert_problem(self.node.get("/api/account"), 401)


if __name__ == "__main__":
    unittest.main()
