# The fake server needs nothing but the standard library; Debian's own Python
# comes first, as it is what the documents name.
find_program(REEVE_PYTHON3 NAMES python3 PATHS /usr/bin NO_DEFAULT_PATH)
find_program(REEVE_PYTHON3 NAMES python3 REQUIRED)

reeve_test(test-processors reeve_processors
  unit/net/loopback_server.cpp
  unit/processors/analysis_server.test.cpp
  unit/processors/anthropic.test.cpp
  unit/processors/fake_server.cpp
  unit/processors/gemini.test.cpp
  unit/processors/local_analysis.test.cpp
  unit/processors/local_image.test.cpp
  unit/processors/local_text.test.cpp
  unit/processors/openai_compatible.test.cpp
  unit/processors/rate_fields.test.cpp
  unit/processors/word_forms.test.cpp
  support/main.cpp)
target_compile_definitions(test-processors PRIVATE
  REEVE_PYTHON3="${REEVE_PYTHON3}"
  REEVE_TESTS_DIR="${CMAKE_CURRENT_SOURCE_DIR}")

# The pipelines and the processors that start programs or call services; apart,
# as they count this process's children and descriptors.
reeve_test(test-pipelines reeve_processors
  unit/net/loopback_server.cpp
  unit/processors/book_generation.test.cpp
  unit/processors/book_text.test.cpp
  unit/processors/card_analysis.test.cpp
  unit/processors/command.test.cpp
  unit/processors/fake_context.cpp
  unit/processors/image_regen.test.cpp
  unit/processors/recall_generation.test.cpp
  unit/processors/registry.test.cpp
  unit/processors/steps.test.cpp
  unit/processors/til_generation.test.cpp
  unit/processors/webhook.test.cpp
  support/main.cpp)
target_compile_definitions(test-pipelines PRIVATE
  REEVE_PYTHON3="${REEVE_PYTHON3}")
