reeve_test(persistence-integration-tests reeve_persistence
  integration/persistence/conformance_sqlite.test.cpp
  integration/persistence/sqlite.test.cpp
  integration/persistence/sqlite_faults.test.cpp
  integration/persistence/sqlite_hot.test.cpp
  support/main.cpp)

# The tests start a server of their own.
find_program(REEVE_INITDB initdb
  PATHS /usr/lib/postgresql/17/bin /usr/lib/postgresql/16/bin
        /usr/lib/postgresql/15/bin /usr/lib/postgresql/14/bin
        /usr/lib/postgresql/13/bin)
if(REEVE_INITDB)
  reeve_test(persistence-postgres-tests reeve_persistence
    integration/persistence/conformance_postgres.test.cpp
    integration/persistence/conformance_postgres_domain.test.cpp
    integration/persistence/postgres.test.cpp
    integration/persistence/postgres_copy.test.cpp
    integration/persistence/postgres_listen.test.cpp
    integration/persistence/postgres_others.test.cpp
    integration/persistence/postgres_plans.test.cpp
    integration/persistence/postgres_runs.test.cpp
    integration/persistence/postgres_start.test.cpp
    integration/persistence/postgres_vector.test.cpp
    support/postgres_cluster.cpp
    support/postgres_proxy.cpp
    support/main.cpp)
  target_include_directories(persistence-postgres-tests
    PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}")
else()
  message(STATUS "No PostgreSQL server found: its tests are left out")
endif()
