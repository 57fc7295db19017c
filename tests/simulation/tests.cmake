reeve_test(reeve-simulation-tests reeve_actors
  simulation/outage.test.cpp
  simulation/node_fixture.cpp
  support/actor_fixture.cpp
  support/actors_main.cpp
  support/fake_database.cpp
  support/fake_reads.cpp
  support/fake_store.cpp)
target_include_directories(reeve-simulation-tests PRIVATE
  "${PROJECT_SOURCE_DIR}/tests")
