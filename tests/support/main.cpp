// tests/support/main.cpp -- the entry point of test binaries without actors.
#define CAF_TEST_NO_MAIN

#include <caf/init_global_meta_objects.hpp>
#include <caf/test/unit_test.hpp>
#include <caf/test/unit_test_impl.hpp>

int main(int argc, char** argv) {
  caf::core::init_global_meta_objects();
  return caf::test::main(argc, argv);
}
