# tests/e2e/killed_server.py -- what was acknowledged outlives the database
# server's sudden death, and the node's with it.
import unittest

from faults import FaultTest, Load, wait_until
from harness import Database
from postgres import Postgres


class KilledServer(FaultTest):

    store = "postgresql"

    def test_kills_under_load(self):
        server = Postgres(durable=True)
        self.addCleanup(server.close)
        self.assertEqual(server.sql("SHOW fsync"), [["on"]])
        # The node asks for more than this server gives by itself.
        server.sql("ALTER SYSTEM SET synchronous_commit = off")
        server.sql("SELECT pg_reload_conf()")
        database = Database("postgresql", "", server)
        fake = self.start_analysis()
        node = self.start(fake, {
            "workers": 4, "http.answer-timeout": "2s",
            # Any one of them may be unlucky more than twice.
            "types.CARD_ANALYSIS.max-attempts": 100}, database)
        load = Load(node, target=300)
        self.addCleanup(load.stop)
        for kill in range(1, 7):
            def is_under_load():
                # What was refused meanwhile has used up what was allowed.
                load.allow(3)
                return len(load.accepted) >= 40 * kill
            wait_until(is_under_load, "the load")
            server.kill9()
            if kill % 2 == 0:
                node.kill9()
            server.start()
            if kill % 2 == 0:
                node.start()
        load.finish()
        self.wait_for_quiet(database)
        self.assert_accepted_completed(load, database)
        self.assert_invariants(database)
        self.assert_effects_explained(fake, database)


if __name__ == "__main__":
    unittest.main()
