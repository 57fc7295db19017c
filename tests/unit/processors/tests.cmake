# The fake server needs nothing but the standard library; Debian's own Python
# comes first, as it is what the documents name.
find_program(REEVE_PYTHON3 NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(REEVE_PYTHON3 NAMES python3 REQUIRED)

reeve_test(test-processors reeve_processors
  unit/processors/analysis_server.test.cpp
  unit/processors/card_analysis.test.cpp
  unit/processors/fake_server.cpp
  unit/processors/local_analysis.test.cpp
  unit/processors/registry.test.cpp
  unit/processors/word_forms.test.cpp
  support/main.cpp)
target_compile_definitions(test-processors PRIVATE
  REEVE_PYTHON3="${REEVE_PYTHON3}"
  REEVE_TESTS_DIR="${CMAKE_CURRENT_SOURCE_DIR}")
