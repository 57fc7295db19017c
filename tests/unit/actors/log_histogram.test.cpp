// tests/unit/actors/log_histogram.test.cpp -- quantiles from bounded memory.
#define CAF_SUITE actors.log_histogram

#include "actors/log_histogram.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <cmath>
#include <initializer_list>

using namespace reeve;

namespace {

bool is_near(double x, double expected) {
  return std::abs(x - expected) <= expected / 8;
}

} // namespace

SCENARIO("what has recorded nothing says so") {
  log_histogram uut{1e-6, 28};
  auto x = uut.read();
  CHECK_EQ(x.count, 0u);
  CHECK_EQ(x.sum, 0.0);
  CHECK_EQ(x.p50, 0.0);
  CHECK_EQ(x.p99, 0.0);
}

SCENARIO("quantiles are off by an eighth at most, over seven decades") {
  for (auto unit : {1e-6, 1e-5, 1e-3, .1, 1.0}) {
    log_histogram uut{1e-6, 28};
    for (int i = 1; i <= 100; ++i)
      uut.record(i * unit);
    auto x = uut.read();
    CHECK_EQ(x.count, 100u);
    CHECK(std::abs(x.sum - 5050 * unit) < 1e-6);
    CHECK(is_near(x.p50, 50 * unit));
    CHECK(is_near(x.p95, 95 * unit));
    CHECK(is_near(x.p99, 99 * unit));
  }
}

SCENARIO("one slow value among many quick ones shows in no quantile but p99") {
  log_histogram uut{1e-6, 28};
  for (int i = 0; i < 98; ++i)
    uut.record(1e-4);
  uut.record(10);
  uut.record(10);
  auto x = uut.read();
  CHECK(is_near(x.p50, 1e-4));
  CHECK(is_near(x.p95, 1e-4));
  CHECK(is_near(x.p99, 10));
}

SCENARIO("values outside of the range are kept as its ends") {
  log_histogram uut{1e-6, 4};
  for (auto x : {-1.0, 0.0, 1e-9})
    uut.record(x);
  CHECK(uut.read().p99 <= 1e-6);
  for (int i = 0; i < 1000; ++i)
    uut.record(1e9);
  auto x = uut.read();
  CHECK_EQ(x.count, 1003u);
  CHECK_EQ(x.p50, 16e-6);
  CHECK_EQ(x.last, 1e9);
}

SCENARIO("small whole numbers are told apart") {
  for (auto n : {1.0, 2.0, 3.0, 5.0, 8.0}) {
    log_histogram uut{1, 16};
    for (int i = 0; i < 5; ++i)
      uut.record(n);
    CHECK_EQ(uut.read().p50, n);
    CHECK_EQ(uut.read().p99, n);
  }
}
