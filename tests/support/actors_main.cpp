// tests/support/actors_main.cpp -- the entry point of test binaries with
// actors.
#define CAF_TEST_NO_MAIN

#include "actors/interfaces.hpp"
#include "config/log.hpp"

#include <caf/init_global_meta_objects.hpp>
#include <caf/io/middleman.hpp>
#include <caf/test/unit_test.hpp>
#include <caf/test/unit_test_impl.hpp>

int main(int argc, char** argv) {
  caf::init_global_meta_objects<caf::id_block::reeve>();
  caf::io::middleman::init_global_meta_objects();
  caf::core::init_global_meta_objects();
  // Tests provoke failures by the hundred; assertions tell what matters.
  reeve::log::start("off", reeve::log::format::text);
  return caf::test::main(argc, argv);
}
