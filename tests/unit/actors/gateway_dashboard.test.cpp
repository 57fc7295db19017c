// tests/unit/actors/gateway_dashboard.test.cpp -- which form of a file a client
// takes, which paths are the dashboard's, and how long samples are kept.
#define CAF_SUITE actors.gateway_dashboard
#include "actors/gateway/dashboard.hpp"

#include "actors/gateway/dashboard_files.hpp"
#include "actors/gateway/stats_history.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <set>

using namespace reeve;
using namespace std::chrono_literals;

namespace {

struct fixture {};

} // namespace

BEGIN_FIXTURE_SCOPE(fixture)

SCENARIO("a coding is taken when the client names it, and not with 0") {
  CHECK(accepts_coding("br", "br"));
  CHECK(accepts_coding("gzip, deflate, br, zstd", "br"));
  CHECK(accepts_coding("gzip;q=1.0 , BR ; q=0.001", "br"));
  CHECK(accepts_coding("\tbr\t", "br"));
  CHECK(!accepts_coding("", "br"));
  CHECK(!accepts_coding("brotli, x-br", "br"));
  CHECK(!accepts_coding("*", "br"));
  CHECK(!accepts_coding("br;q=0", "br"));
  CHECK(!accepts_coding("gzip, br; q=0.000", "br"));
  CHECK(!accepts_coding(",,;q=1,", "br"));
}

SCENARIO("the page is at every view's address, and nowhere else") {
  using path = std::vector<std::string>;
  CHECK(is_dashboard_path({}));
  CHECK(is_dashboard_path(path{"jobs"}));
  CHECK(is_dashboard_path(path{"jobs", "some-id"}));
  CHECK(is_dashboard_path(path{"assets", "app.js"}));
  CHECK(!is_dashboard_path(path{"api"}));
  CHECK(!is_dashboard_path(path{"api", "jobs"}));
  CHECK(!is_dashboard_path(path{"assets"}));
  CHECK(!is_dashboard_path(path{"assets", "..", "x"}));
  CHECK(!is_dashboard_path(path{"Jobs"}));
  CHECK(!is_dashboard_path(path{"metrics"}));
}

SCENARIO("embedded files have names, types and digests of their own") {
  std::set<std::string_view> names;
  for (const auto& file : dashboard_files()) {
    CHECK(names.insert(file.name).second);
    CHECK(!file.plain.empty());
    CHECK(!file.content_type.empty());
    CHECK_EQ(file.digest.size(), 64u);
    if (!file.brotli.empty())
      CHECK_LT(file.brotli.size(), file.plain.size());
  }
  if (!names.empty())
    CHECK(names.contains("index.html"));
}

SCENARIO("an hour of samples is kept, the newest ones") {
  stats_history uut;
  for (size_t i = 0; i < stats_history::most + 5; ++i)
    uut.add(timestamp{std::chrono::seconds{i}}, {});
  REQUIRE_EQ(uut.samples().size(), stats_history::most);
  CHECK(uut.samples().front().at == timestamp{5s});
  CHECK(uut.samples().back().at
        == timestamp{std::chrono::seconds{stats_history::most + 4}});
}

END_FIXTURE_SCOPE()
