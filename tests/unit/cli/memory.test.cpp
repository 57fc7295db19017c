// tests/unit/cli/memory.test.cpp -- when an idle node gives memory back.
#define CAF_SUITE cli.memory

#include "cli/memory.hpp"

#include <caf/test/dsl.hpp>

#include <fstream>
#include <string>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

// Kilobytes of program and libraries in memory, of /proc/self/status.
long resident_files() {
  std::ifstream file{"/proc/self/status"};
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("RssFile:"))
      return std::stol(line.substr(8));
  return 0;
}

} // namespace

CAF_TEST(the start is the first burst) {
  rest_detector uut;
  CAF_CHECK(!uut.tick(150ms));
  CAF_CHECK(uut.tick(155ms));
  CAF_CHECK(!uut.tick(160ms));
}

CAF_TEST(a node that has a little to do all the time is left alone) {
  rest_detector uut;
  for (auto used = 25ms; used < 2s; used += 25ms)
    CAF_CHECK(!uut.tick(used));
}

CAF_TEST(each burst is followed by one) {
  rest_detector uut;
  CAF_CHECK(uut.tick(10ms));
  CAF_CHECK(!uut.tick(2s));
  CAF_CHECK(!uut.tick(4s));
  CAF_CHECK(uut.tick(4s + 10ms));
  CAF_CHECK(!uut.tick(4s + 20ms));
  CAF_CHECK(!uut.tick(6s));
  CAF_CHECK(uut.tick(6s));
}

CAF_TEST(a little work now and then adds up) {
  rest_detector uut;
  CAF_CHECK(uut.tick(10ms));
  CAF_CHECK(!uut.tick(150ms));
  CAF_CHECK(!uut.tick(160ms));
  CAF_CHECK(!uut.tick(270ms));
  CAF_CHECK(uut.tick(280ms));
}

CAF_TEST(the process has used some time) {
  CAF_CHECK(process_cpu_time().count() > 0);
}

CAF_TEST(pages of the program that nobody needs are let go) {
  auto before = resident_files();
  give_memory_back();
  CAF_CHECK(resident_files() < before);
}
