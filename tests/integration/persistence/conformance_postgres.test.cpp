// tests/integration/persistence/conformance_postgres.test.cpp -- the tests
// both stores must pass, on PostgreSQL.
#define CAF_SUITE persistence.conformance_postgres

#include "conformance_fixture.hpp"

#include "postgres_backend.hpp"

using namespace reeve;

using fixture = conformance_fixture<postgres_backend>;

#include "conformance_claim.hpp"
#include "conformance_enqueue.hpp"
#include "conformance_reads.hpp"
#include "conformance_requests.hpp"
#include "conformance_running.hpp"
#include "conformance_settle.hpp"
#include "conformance_start.hpp"
