// tests/unit/persistence/uuid.test.cpp -- ids that grow and never repeat.
#define CAF_SUITE persistence.uuid

#include "persistence/uuid.hpp"

#include <caf/test/bdd_dsl.hpp>

#include <chrono>
#include <set>
#include <thread>
#include <vector>

using namespace reeve;

SCENARIO("an id is a UUIDv7 of this moment") {
  auto millis = [] {
    using namespace std::chrono;
    return duration_cast<milliseconds>(system_clock::now().time_since_epoch())
      .count();
  };
  const auto before = millis();
  const auto id = make_uuid();
  const auto after = millis();
  CHECK(is_uuid(id));
  CHECK_EQ(id[14], '7');
  CHECK(std::string{"89ab"}.find(id[19]) != std::string::npos);
  const auto time = std::stoll(id.substr(0, 8) + id.substr(9, 4), nullptr, 16);
  CHECK_GE(time, before);
  CHECK_LE(time, after);
}

SCENARIO("ids of one thread grow, also within a millisecond") {
  auto last = make_uuid();
  for (int i = 0; i < 50'000; ++i) {
    auto next = make_uuid();
    if (next <= last)
      FAIL(next << " after " << last);
    last = next;
  }
  CHECK(is_uuid(last));
}

SCENARIO("ids of many threads differ") {
  std::vector<std::vector<std::string>> made(4);
  std::vector<std::thread> threads;
  for (auto& ids : made)
    threads.emplace_back([&ids] {
      for (int i = 0; i < 10'000; ++i)
        ids.push_back(make_uuid());
    });
  for (auto& x : threads)
    x.join();
  std::set<std::string> all;
  for (const auto& ids : made)
    all.insert(ids.begin(), ids.end());
  CHECK_EQ(all.size(), 40'000u);
}

SCENARIO("only the canonical form is an id") {
  CHECK(is_uuid("01890a5d-ac96-774b-bcce-b302099a8057"));
  CHECK(is_uuid("01890A5D-AC96-774B-BCCE-B302099A8057"));
  for (auto x : {"", "01890a5d", "01890a5dac96774bbcceb302099a8057",
                 "01890a5d-ac96-774b-bcce-b302099a805",
                 "01890a5d-ac96-774b-bcce-b302099a80577",
                 "01890a5d-ac96-774b-bcce-b302099a805g",
                 "01890a5d-ac96-774b-bcce_b302099a8057",
                 "{01890a5d-ac96-774b-bcce-b302099a8057}",
                 "01890a5d-ac96-774b-bcce-b302099a8057\n",
                 " 1890a5d-ac96-774b-bcce-b302099a8057",
                 "------------------------------------"})
    CHECK(!is_uuid(x));
}
