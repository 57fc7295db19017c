// tests/unit/actors/gateway_days.test.cpp -- days and their instants. The
// expected ones are those of the IANA data, by another implementation.
#define CAF_SUITE actors.gateway_days

#include "actors/gateway/days.hpp"
#include "actors/gateway/rfc3339.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <string>
#include <vector>

using namespace reeve;

namespace {

struct row {
  const char* date;
  const char* zone;
  const char* start;
  const char* end;
  int hours;
};

const std::vector<row> rows{
  {"2026-03-01", "UTC", "2026-03-01T00:00:00.000Z", "2026-03-02T00:00:00.000Z",
   24},
  {"2026-03-01", "Asia/Seoul", "2026-02-28T15:00:00.000Z",
   "2026-03-01T15:00:00.000Z", 24},
  {"2026-03-01", "Asia/Kolkata", "2026-02-28T18:30:00.000Z",
   "2026-03-01T18:30:00.000Z", 24},
  {"2024-02-29", "Europe/Paris", "2024-02-28T23:00:00.000Z",
   "2024-02-29T23:00:00.000Z", 24},
  {"2026-12-31", "Pacific/Kiritimati", "2026-12-30T10:00:00.000Z",
   "2026-12-31T10:00:00.000Z", 24},
  {"2026-03-08", "America/New_York", "2026-03-08T05:00:00.000Z",
   "2026-03-09T04:00:00.000Z", 23},
  {"2026-11-01", "America/New_York", "2026-11-01T04:00:00.000Z",
   "2026-11-02T05:00:00.000Z", 25},
  // The clocks went from 23:59:59 to 01:00:00: no midnight.
  {"2018-11-04", "America/Sao_Paulo", "2018-11-04T03:00:00.000Z",
   "2018-11-05T02:00:00.000Z", 23},
  // And back from 23:59:59 to 23:00:00.
  {"2018-02-17", "America/Sao_Paulo", "2018-02-17T02:00:00.000Z",
   "2018-02-18T03:00:00.000Z", 25},
  {"2018-02-18", "America/Sao_Paulo", "2018-02-18T03:00:00.000Z",
   "2018-02-19T03:00:00.000Z", 24},
  // From 00:59:59 back to 00:00:00: midnight comes twice.
  {"2020-11-01", "America/Havana", "2020-11-01T04:00:00.000Z",
   "2020-11-02T05:00:00.000Z", 25},
  // The day before the one that was skipped.
  {"2011-12-29", "Pacific/Apia", "2011-12-29T10:00:00.000Z",
   "2011-12-30T10:00:00.000Z", 24},
};

} // namespace

SCENARIO("a day begins and ends by the clocks of its zone") {
  for (const auto& x : rows) {
    auto date = parse_date(x.date);
    CAF_REQUIRE(date);
    CAF_REQUIRE(is_time_zone(x.zone));
    auto span = span_of(*date, x.zone);
    CAF_REQUIRE(span);
    CHECK_EQ(to_rfc3339(span->start), x.start);
    CHECK_EQ(to_rfc3339(span->end), x.end);
    CHECK_EQ((span->end - span->start) / std::chrono::hours{1}, x.hours);
  }
}

SCENARIO("days follow each other without a gap or an overlap") {
  for (const auto* zone : {"America/New_York", "America/Sao_Paulo",
                           "Australia/Lord_Howe", "Africa/Casablanca"}) {
    std::chrono::sys_days day{*parse_date("2018-01-01")};
    auto before = span_of(day, zone);
    CAF_REQUIRE(before);
    for (int i = 1; i <= 366; ++i) {
      auto next = span_of(day + std::chrono::days{i}, zone);
      CAF_REQUIRE(next);
      CHECK_EQ(before->end.time_since_epoch().count(),
               next->start.time_since_epoch().count());
      before = next;
    }
  }
}

SCENARIO("a day that a zone skipped has no span") {
  CHECK(!span_of(*parse_date("2011-12-30"), "Pacific/Apia"));
  CHECK(span_of(*parse_date("2011-12-30"), "Pacific/Auckland"));
}

SCENARIO("only real dates in the one form are dates") {
  for (const auto* text : {"1900-01-01", "2024-02-29", "9998-12-31"})
    CHECK(parse_date(text));
  for (const auto* text :
       {"",           "2026-3-01",   "2026-03-1",      "2026/03/01",
        "26-03-01",   "2026-03-01 ", " 2026-03-01",    "2026-03-01T00",
        "2026-02-29", "2026-02-30",  "2026-13-01",     "2026-00-01",
        "2026-01-00", "2026-04-31",  "+026-01-01",     "-026-01-01",
        "2026--1-01", "1899-12-31",  "9999-01-01",     "0000-00-00",
        "20260301",   "2026-W10-7",  "２０２６-03-01", "heute"})
    CHECK(!parse_date(text));
}

SCENARIO("only IANA names are time zones") {
  for (const auto* name :
       {"UTC", "GMT", "Etc/UTC", "Asia/Seoul", "America/New_York",
        "America/Argentina/Buenos_Aires", "Etc/GMT+9", "EST5EDT", "EST"})
    CHECK(is_time_zone(name));
  for (const auto* name : {"", "Etc/Unknown", "Asia/Atlantis", "asia/seoul",
                           "Asia/Seoul ", "PST", "IST", "GMT+9", "GMT+09:00",
                           "+09:00", "Z", "한국", "\xff", "../etc/passwd"})
    CHECK(!is_time_zone(name));
  CHECK(!is_time_zone(std::string{"UTC\0", 4}));
  CHECK(!is_time_zone(std::string(10'000, 'A')));
}
