// tests/integration/persistence/conformance_postgres_domain.test.cpp -- the
// tests both stores must pass, on PostgreSQL: cards, books, money and failures.
// A suite of its own, since each test has a database of its own.
#define CAF_SUITE persistence.conformance_postgres_domain

#include "conformance_fixture.hpp"

#include "postgres_backend.hpp"

using namespace reeve;

using fixture = conformance_fixture<postgres_backend>;

#include "conformance_books.hpp"
#include "conformance_failures.hpp"
#include "conformance_history.hpp"
#include "conformance_san.hpp"
#include "conformance_steps.hpp"
