// cli/main.cpp -- the `reeve` program.
#include "cli/program.hpp"

int main(int argc, char** argv, char** envp) {
  return reeve::run_program(argc, argv, envp);
}
