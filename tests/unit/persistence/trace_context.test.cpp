// tests/unit/persistence/trace_context.test.cpp -- what is a trace, and what is
// none.
#define CAF_SUITE persistence.trace_context

#include "persistence/trace_context.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <set>
#include <string>
#include <vector>

using namespace reeve;

namespace {

const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string span_id = "00f067aa0ba902b7";
const std::string good = "00-" + trace_id + '-' + span_id + "-01";

std::string with(size_t at, std::string_view what) {
  return std::string{good}.replace(at, what.size(), what);
}

std::string state_of(std::string_view tracestate) {
  return read_trace(good, tracestate).state;
}

} // namespace

SCENARIO("a valid traceparent is kept") {
  auto x = read_trace(good, "");
  CHECK(x);
  CHECK_EQ(x.parent, good);
  CHECK_EQ(x.id(), trace_id);
  CHECK_EQ(x.state, "");
  CHECK_EQ(read_trace(with(53, "00"), "").parent, with(53, "00"));
  CHECK_EQ(read_trace(with(53, "02"), "").parent, with(53, "02"));
}

SCENARIO("flags that nobody has defined are dropped") {
  CHECK_EQ(read_trace(with(53, "ff"), "").parent, with(53, "03"));
  CHECK_EQ(read_trace(with(53, "f8"), "").parent, with(53, "00"));
}

SCENARIO("a later version is read as far as it is known") {
  for (const auto& later :
       {with(0, "01"), with(0, "fe"), with(0, "01") + "-what-comes-later",
        with(0, "cc") + "-"})
    CHECK_EQ(read_trace(later, "").parent, good);
  CHECK(!read_trace(with(0, "01") + "x", ""));
  CHECK(!read_trace(with(0, "01") + ",", ""));
}

SCENARIO("an invalid traceparent is none, and its tracestate neither") {
  const std::vector<std::string> bad{
    "",
    "00",
    good.substr(0, 54),
    good + "-",
    good + "-00",
    good + " ",
    " " + good,
    good + ", " + good,
    with(0, "ff"),
    with(0, "0G"),
    with(0, "0A"),
    with(2, "_"),
    with(35, "0"),
    with(52, " "),
    with(3, "4BF9"),
    with(3, std::string(32, '0')),
    with(36, std::string(16, '0')),
    with(36, "g"),
    with(53, "0x"),
    with(53, "-1"),
    with(3, std::string{"\0", 1}),
    std::string(100'000, '0'),
    with(36, "\xff"),
  };
  for (const auto& x : bad)
    CHECK_EQ(read_trace(x, "vendor=1"), trace_context{});
}

SCENARIO("a valid tracestate goes along") {
  CHECK_EQ(state_of("congo=t61rcWkgMzE"), "congo=t61rcWkgMzE");
  CHECK_EQ(state_of("rojo=00f067aa0ba902b7 , congo=t61,,\t"),
           "rojo=00f067aa0ba902b7,congo=t61");
  CHECK_EQ(state_of("0tenant@system=a b!~,a_-*/=x"),
           "0tenant@system=a b!~,a_-*/=x");
  const auto longest = std::string(256, 'k') + '=' + std::string(255, 'v');
  CHECK_EQ(state_of(longest), longest);
}

SCENARIO("an invalid tracestate is none, and the trace stays") {
  std::string many;
  for (int i = 0; i < 33; ++i)
    many += "k" + std::to_string(i) + "=v,";
  const std::vector<std::string> bad{
    "key",
    "=value",
    "key=",
    "Key=v",
    "k y=v",
    "_k=v",
    "k=v=w",
    "k=\x7f",
    "k=\xc3\xa4",
    "k=1,k=2",
    "a=1,b",
    many,
    "k\"=v",
    std::string(257, 'k') + "=v",
    "k=" + std::string(257, 'v'),
    std::string{"k=\0", 3},
  };
  for (const auto& x : bad) {
    CHECK_EQ(state_of(x), "");
    CHECK_EQ(read_trace(good, x).parent, good);
  }
}

SCENARIO("of a long tracestate long members go first, then the last ones") {
  const auto a = "a=" + std::string(100, 'x');
  const auto b = "b=" + std::string(200, 'x');
  const auto c = "c=" + std::string(100, 'x');
  const auto d = "d=" + std::string(126, 'x');
  const auto e = "e=" + std::string(126, 'x');
  const auto f = "f=" + std::string(100, 'x');
  CHECK_EQ(state_of(a + ',' + b + ',' + c), a + ',' + b + ',' + c);
  CHECK_EQ(state_of(a + ',' + b + ',' + c + ',' + d), a + ',' + c + ',' + d);
  CHECK_EQ(state_of(a + ',' + c + ',' + d + ',' + e + ',' + f),
           a + ',' + c + ',' + d + ',' + e);
}

SCENARIO("a child is another span of the same trace") {
  auto x = read_trace(good, "congo=t61");
  std::set<std::string> spans;
  for (int i = 0; i < 1'000; ++i) {
    auto child = child_of(x);
    CHECK_EQ(child.id(), trace_id);
    CHECK_EQ(child.state, "congo=t61");
    CHECK_EQ(read_trace(child.parent, child.state), child);
    CHECK_EQ(child.parent.substr(53), "01");
    spans.insert(child.parent.substr(36, 16));
  }
  CHECK_EQ(spans.size(), 1'000u);
  CHECK(!spans.contains(span_id));
}

SCENARIO("no trace has no child, nor has what somebody wrote by hand") {
  CHECK_EQ(child_of({}), trace_context{});
  CHECK_EQ(child_of({"by hand", "x=y"}), trace_context{});
  CHECK_EQ(trace_context{}.id(), "");
  CHECK_EQ((trace_context{"by hand", ""}.id()), "");
}
