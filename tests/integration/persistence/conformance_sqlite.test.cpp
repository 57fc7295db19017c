// tests/integration/persistence/conformance_sqlite.test.cpp -- the tests both
// stores must pass, on SQLite.
#define CAF_SUITE persistence.conformance_sqlite

#include "sqlite_backend.hpp"

#include "conformance_fixture.hpp"

using namespace reeve;

using fixture = conformance_fixture<sqlite_backend>;

#include "conformance_books.hpp"
#include "conformance_claim.hpp"
#include "conformance_enqueue.hpp"
#include "conformance_failures.hpp"
#include "conformance_history.hpp"
#include "conformance_reads.hpp"
#include "conformance_requests.hpp"
#include "conformance_running.hpp"
#include "conformance_san.hpp"
#include "conformance_settle.hpp"
#include "conformance_start.hpp"
#include "conformance_steps.hpp"
