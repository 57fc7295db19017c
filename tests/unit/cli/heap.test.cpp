// tests/unit/cli/heap.test.cpp -- when an idle node gives memory back.
#define CAF_SUITE cli.heap

#include "cli/heap.hpp"

#include <caf/test/dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

CAF_TEST(a node that rested from the start trims nothing) {
  heap_trimmer uut;
  CAF_CHECK(!uut.tick(50ms));
  CAF_CHECK(!uut.tick(50ms));
  CAF_CHECK(!uut.tick(60ms));
}

CAF_TEST(one trim follows a burst) {
  heap_trimmer uut;
  CAF_CHECK(!uut.tick(2s));
  CAF_CHECK(!uut.tick(4s));
  CAF_CHECK(uut.tick(4s + 10ms));
  CAF_CHECK(!uut.tick(4s + 20ms));
  CAF_CHECK(!uut.tick(6s));
  CAF_CHECK(uut.tick(6s));
}

CAF_TEST(a little work now and then adds up) {
  heap_trimmer uut;
  CAF_CHECK(!uut.tick(90ms));
  CAF_CHECK(!uut.tick(180ms));
  CAF_CHECK(uut.tick(260ms));
  CAF_CHECK(!uut.tick(340ms));
}

CAF_TEST(the process has used some time) {
  auto before = process_cpu_time();
  CAF_CHECK(before.count() > 0);
  trim_heaps();
  CAF_CHECK(process_cpu_time() >= before);
}
