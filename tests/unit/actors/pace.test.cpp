// tests/unit/actors/pace.test.cpp -- when runs are fetched ahead, and how many.
#define CAF_SUITE actors.pace

#include "actors/pace.hpp"

#include <caf/test/bdd_dsl.hpp>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

void add(pace& uut, int runs, caf::timespan took) {
  for (int i = 0; i < runs; ++i)
    uut.add(took);
}

} // namespace

SCENARIO("nobody knows a type before its first run") {
  CHECK_EQ(pace{}.window(), 1u);
}

SCENARIO("short runs open the window as they go by, up to the most") {
  pace uut;
  add(uut, 1, 1us);
  CHECK_EQ(uut.window(), 2u);
  add(uut, 1, 1us);
  CHECK_EQ(uut.window(), 2u);
  add(uut, 1, 1us);
  CHECK_EQ(uut.window(), 4u);
  add(uut, 100'000, 1us);
  CHECK_EQ(uut.window(), pace::most);
}

SCENARIO("a bundle holds about as much work as the budget") {
  pace uut;
  add(uut, 1'000, 1ms);
  CHECK_EQ(uut.window(), 20u);
  add(uut, 1'000, 6ms);
  CHECK_EQ(uut.window(), 3u);
  add(uut, 1'000, 19ms);
  CHECK_EQ(uut.window(), 1u);
}

SCENARIO("one slow run closes the window, and it opens slowly again") {
  pace uut;
  add(uut, 10'000, 1us);
  uut.add(5s);
  CHECK_EQ(uut.window(), 1u);
  add(uut, 10, 1us);
  CHECK_EQ(uut.window(), 1u);
  add(uut, 10'000, 1us);
  CHECK_EQ(uut.window(), pace::most);
}

SCENARIO("runs as long as the budget, or that never came back, open nothing") {
  pace uut;
  add(uut, 10, pace::budget);
  CHECK_EQ(uut.window(), 1u);
  add(uut, 3, 24h);
  CHECK_EQ(uut.window(), 1u);
}
