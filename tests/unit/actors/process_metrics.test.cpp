// tests/unit/actors/process_metrics.test.cpp -- what a scrape may cost.
#define CAF_SUITE actors.process_metrics

#include "actors/process_metrics.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <stdlib.h>

#include <fstream>
#include <string>

using namespace reeve;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

struct fixture {
  fs::path folder;
  entry_counter::time_point now{1h};

  fixture() {
    auto name = (fs::temp_directory_path() / "reeve-count-XXXXXX").string();
    CAF_REQUIRE(mkdtemp(name.data()) != nullptr);
    folder = name;
  }

  ~fixture() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }

  void add(const std::string& name) {
    std::ofstream file{folder / name};
  }
};

/// Of a metric without labels.
double value_of(const std::string& text, const std::string& name) {
  auto i = text.find('\n' + name + ' ');
  CAF_REQUIRE(i != std::string::npos);
  return std::stod(text.substr(i + name.size() + 2));
}

std::string scrape() {
  exposition out;
  add_process_metrics(out);
  return out.take();
}

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a folder is counted once in a while, however often one asks") {
  entry_counter uut{folder};
  CHECK_EQ(uut.count(now).value(), 0);
  add("a");
  add("b");
  CHECK_EQ(uut.count(now + entry_counter::spacing - 1ms).value(), 0);
  now += entry_counter::spacing;
  CHECK_EQ(uut.count(now).value(), 2);
  AND("one that is gone has no number") {
    fs::remove_all(folder);
    CHECK(!uut.count(now + entry_counter::spacing));
  }
}

SCENARIO("open files are counted without those that looked") {
  std::error_code err;
  auto walk = fs::directory_iterator{"/proc/self/fd", err};
  CAF_REQUIRE(!err);
  // The walk's own one is closed at its end.
  const auto count = std::distance(begin(walk), end(walk)) - 1;
  walk = {};
  CHECK_EQ(value_of(scrape(), "process_open_fds"), count);
}

SCENARIO("a process starts once") {
  const auto first = value_of(scrape(), "process_start_time_seconds");
  CHECK_GT(first, 0);
  CHECK_EQ(value_of(scrape(), "process_start_time_seconds"), first);
}

END_FIXTURE_SCOPE()
