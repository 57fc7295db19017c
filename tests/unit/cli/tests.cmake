reeve_test(reeve-cli-tests reeve_cli
  unit/cli/api.test.cpp
  unit/cli/cells.test.cpp
  unit/cli/command_tree.test.cpp
  unit/cli/memory.test.cpp
  unit/cli/reports.test.cpp
  unit/cli/table.test.cpp
  support/main.cpp)
