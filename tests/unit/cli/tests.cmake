reeve_test(reeve-cli-tests reeve_cli
  unit/cli/heap.test.cpp
  support/main.cpp)
