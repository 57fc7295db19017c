reeve_test(persistence-tests reeve_persistence
  unit/persistence/embedding_index.test.cpp
  unit/persistence/fingerprint.test.cpp
  unit/persistence/job.test.cpp
  unit/persistence/store_rules.test.cpp
  unit/persistence/text.test.cpp
  unit/persistence/trace_context.test.cpp
  unit/persistence/uuid.test.cpp
  support/main.cpp)
