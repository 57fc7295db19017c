reeve_test(reeve-actors-tests reeve_actors
  unit/actors/child_table.test.cpp
  unit/actors/db_actor.test.cpp
  unit/actors/decision.test.cpp
  unit/actors/event_hub.test.cpp
  unit/actors/executor.test.cpp
  unit/actors/job_actor.test.cpp
  unit/actors/listener.test.cpp
  unit/actors/query_actor.test.cpp
  unit/actors/recovery.test.cpp
  unit/actors/scheduler.test.cpp
  unit/actors/supervisor.test.cpp
  unit/actors/supervisor_drain.test.cpp
  unit/actors/supervisor_lease.test.cpp
  unit/actors/supervisor_restart.test.cpp
  unit/actors/supervisor_fixture.cpp
  support/actor_fixture.cpp
  support/actors_main.cpp
  support/fake_store.cpp)
target_include_directories(reeve-actors-tests PRIVATE
  "${PROJECT_SOURCE_DIR}/tests")
