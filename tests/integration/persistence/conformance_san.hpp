// tests/integration/persistence/conformance_san.hpp -- daily summaries, and
// cards by time and similarity. Included once by the suite of each store.
#include "conformance_fixture.hpp"

#include <cmath>

namespace conformance_san {

using floats = std::vector<float>;
using texts = std::vector<std::string>;

struct san_fixture : fixture {
  /// The card of a scrap of its own, as it is stored.
  knowledge_card card(std::optional<std::string> user, floats embedding) {
    add(new_scrap_job());
    auto wanted = ending(start(), run_outcome::completed, verdict::complete);
    auto x = card_for(*wanted.claimed);
    x.user_id = std::move(user);
    x.embedding = std::move(embedding);
    wanted.effects.push_back(x);
    get<changed>(wanted);
    auto result = store->find_card(x.id);
    REQUIRE(result.has_value());
    return *result;
  }

  static summary_write day(timestamp from, timestamp to,
                           std::optional<std::string> user = std::nullopt) {
    summary_write result;
    result.what.id = make_uuid();
    result.what.user_id = std::move(user);
    result.what.date = "2026-02-28";
    result.what.time_zone = "Asia/Seoul";
    result.what.day_start = from;
    result.what.day_end = to;
    return result;
  }

  static summary_write any_day(std::optional<std::string> user = {}) {
    return day(timestamp{}, timestamp{std::chrono::hours{24}}, std::move(user));
  }

  template <class T>
  T made(const daily_summary& what, std::string content) {
    add(new_job("TIL_GENERATION", what.id));
    auto wanted = ending(start(), run_outcome::completed, verdict::complete);
    T result;
    result.id = make_uuid();
    result.daily_summary_id = what.id;
    result.job_id = wanted.claimed->id;
    result.user_id = what.user_id;
    result.content = std::move(content);
    result.model = "local";
    wanted.effects.push_back(result);
    get<changed>(wanted);
    return result;
  }

  template <class List>
  static texts ids(const List& cards) {
    texts result;
    for (const auto& x : cards)
      result.push_back(x.id);
    return result;
  }

  texts found(const card_search& what) {
    texts result;
    for (const auto& hit : store->similar_cards(what)) {
      CHECK(hit.card.embedding.empty());
      result.push_back(hit.card.id);
    }
    return result;
  }

  texts found(floats embedding) {
    return found(card_search{std::move(embedding), {}, {}, 100});
  }
};

inline std::string seen(const daily_summary& x) {
  auto micros = [](timestamp t) {
    return std::to_string(t.time_since_epoch().count()) + '\n';
  };
  return x.id + '\n' + x.user_id.value_or("-") + '\n' + x.date + '\n'
    + x.time_zone + '\n' + micros(x.day_start) + micros(x.day_end)
    + micros(x.created_at);
}

BEGIN_FIXTURE_SCOPE(san_fixture)

// -- summaries ----------------------------------------------------------------

SCENARIO("a summary is stored once a user, date and time zone") {
  auto x = any_day("user");
  auto first = get<stored_summary>(x);
  CHECK(first.created);
  CHECK_EQ(first.what.id, x.what.id);
  CHECK_EQ(first.what.date, "2026-02-28");
  CHECK(first.what.day_end == x.what.day_end);
  // An earlier try may have been ours, or somebody else's.
  CHECK(get<stored_summary>(x, true).created);
  CHECK(!get<stored_summary>(x).created);
  auto again = any_day("user");
  auto known = get<stored_summary>(again);
  CHECK(!known.created);
  CHECK_EQ(seen(known.what), seen(first.what));
  CHECK(!get<stored_summary>(again, true).created);
  auto elsewhere = any_day("user");
  elsewhere.what.time_zone = "Europe/Berlin";
  CHECK(get<stored_summary>(elsewhere).created);
  auto next = any_day("user");
  next.what.date = "2026-03-01";
  CHECK(get<stored_summary>(next).created);
  CHECK(get<stored_summary>(any_day("other")).created);
  // Nobody's is one, too.
  auto nobodys = get<stored_summary>(any_day());
  CHECK(nobodys.created);
  CHECK(!get<stored_summary>(any_day()).created);
  CHECK_EQ(backend.number("SELECT count(*) FROM daily_summaries"), 5);
  auto found = store->find_summary(first.what.id);
  REQUIRE(found.has_value());
  CHECK_EQ(seen(found->what), seen(first.what));
}

SCENARIO("a summary no store can keep is refused") {
  auto refuse = [this](auto change) {
    auto x = any_day("user");
    change(x.what);
    CHECK_EQ(refused(x), "invalid_argument");
  };
  refuse([](auto& x) { x.id = "no-uuid"; });
  refuse([](auto& x) { x.date = "2026-02-29"; });
  refuse([](auto& x) { x.date = "tomorrow"; });
  refuse([](auto& x) { x.time_zone = ""; });
  refuse([](auto& x) { x.user_id = std::string("a\0b", 3); });
  refuse([](auto& x) { x.user_id = ""; });
  refuse([](auto& x) { x.day_end = x.day_start; });
  auto x = get<stored_summary>(any_day()).what;
  auto stolen = any_day("other");
  stolen.what.id = x.id;
  CHECK_EQ(refused(stolen), "invalid_argument");
  CHECK_EQ(backend.number("SELECT count(*) FROM daily_summaries"), 1);
}

SCENARIO("a date finds its newest summary") {
  auto seoul = get<stored_summary>(any_day("user")).what;
  auto x = any_day("user");
  x.what.time_zone = "Europe/Berlin";
  auto berlin = get<stored_summary>(x).what;
  auto nobodys = get<stored_summary>(any_day()).what;
  auto found = store->find_summary_of("user", "2026-02-28");
  REQUIRE(found.has_value());
  CHECK_EQ(found->what.id, berlin.id);
  found = store->find_summary_of(std::nullopt, "2026-02-28");
  REQUIRE(found.has_value());
  CHECK_EQ(found->what.id, nobodys.id);
  CHECK(!store->find_summary_of("user", "2026-02-27"));
  CHECK(!store->find_summary_of("nobody", "2026-02-28"));
  CHECK(!store->find_summary_of("user", "2026-02-30"));
  CHECK(!store->find_summary_of(std::string("us\0er", 5), "2026-02-28"));
  CHECK(!store->find_summary_of("user", ""));
  CHECK(store->find_summary(seoul.id).has_value());
  CHECK(!store->find_summary(make_uuid()));
  CHECK(!store->find_summary("no-uuid"));
}

SCENARIO("a summary shows the day's cards and its newest texts") {
  auto before = card("user", {1});
  auto first = card("user", {1});
  card("other", {1});
  card(std::nullopt, {1});
  auto last = card("user", {1});
  auto after = card("user", {1});
  auto what =
    get<stored_summary>(day(first.created_at, after.created_at, "user")).what;
  auto view = store->find_summary(what.id);
  REQUIRE(view.has_value());
  CHECK_EQ(ids(view->cards), (texts{first.id, last.id}));
  CHECK(view->cards[0].embedding.empty());
  CHECK_EQ(view->cards[0].summary, "요약");
  CHECK(!view->til);
  CHECK(!view->recall);
  made<til_entry>(what, "an older text");
  auto til = made<til_entry>(what, "오늘 배운 것");
  auto recall = made<recall_entry>(what, "a recall");
  view = store->find_summary_of("user", what.date);
  REQUIRE(view.has_value());
  REQUIRE(view->til.has_value());
  CHECK_EQ(view->til->id, til.id);
  CHECK_EQ(view->til->content, "오늘 배운 것");
  CHECK_EQ(view->til->job_id, til.job_id);
  CHECK(view->til->card_ids.empty());
  REQUIRE(view->recall.has_value());
  CHECK_EQ(view->recall->id, recall.id);
  CHECK(view->recall->user_id == "user");
}

SCENARIO("what texts refer to is kept as it was") {
  auto what = get<stored_summary>(any_day()).what;
  add(new_job("RECALL_GENERATION", what.id));
  auto wanted = ending(start(), run_outcome::completed, verdict::complete);
  til_entry til;
  til.id = make_uuid();
  til.daily_summary_id = what.id;
  til.job_id = wanted.claimed->id;
  til.content = "a text";
  til.card_ids = {make_uuid(), "\"{,}\\", ""};
  recall_entry recall;
  recall.id = make_uuid();
  recall.daily_summary_id = what.id;
  recall.job_id = wanted.claimed->id;
  recall.related = {{make_uuid(), 0.1}, {make_uuid(), -1.0 / 3}};
  wanted.effects = {til, recall};
  get<changed>(wanted);
  auto view = store->find_summary(what.id);
  REQUIRE(view && view->til && view->recall);
  CHECK_EQ(view->til->card_ids, til.card_ids);
  REQUIRE_EQ(view->recall->related.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    CHECK_EQ(view->recall->related[i].card_id, recall.related[i].card_id);
    CHECK_EQ(view->recall->related[i].similarity, recall.related[i].similarity);
  }
}

// -- cards by time ------------------------------------------------------------

SCENARIO("a day includes its first instant and not the next day's") {
  std::vector<knowledge_card> mine;
  for (int i = 0; i < 3; ++i)
    mine.push_back(card("user", {0.5f, -0.25f}));
  auto nobodys = card(std::nullopt, {});
  auto between = [this](timestamp from, timestamp to) {
    return ids(store->cards_between("user", from, to, 100));
  };
  const auto a = mine[0].created_at, b = mine[1].created_at,
             c = mine[2].created_at;
  const std::chrono::microseconds moment{1};
  CHECK_EQ(between(a, c), (texts{mine[0].id, mine[1].id}));
  CHECK_EQ(between(a, c + moment), (texts{mine[0].id, mine[1].id, mine[2].id}));
  CHECK_EQ(between(a + moment, c), texts{mine[1].id});
  CHECK_EQ(between(b, b), texts{});
  CHECK_EQ(between(c, a), texts{});
  CHECK_EQ(between(timestamp::min(), timestamp::max()).size(), 3u);
  auto limited = store->cards_between("user", a, c + moment, 2);
  REQUIRE_EQ(limited.size(), 2u);
  CHECK_EQ(limited[0].id, mine[0].id);
  CHECK_EQ(limited[0].embedding, (floats{0.5f, -0.25f}));
  CHECK(store->cards_between("user", a, c, 0).empty());
  const auto all = nobodys.created_at + moment;
  CHECK_EQ(ids(store->cards_between(std::nullopt, a, all, 9)),
           texts{nobodys.id});
  CHECK(store->cards_between("", a, all, 9).empty());
  CHECK(store->cards_between("stranger", a, all, 9).empty());
}

// -- cards by similarity ------------------------------------------------------

SCENARIO("the most similar cards come first, of equals the older one") {
  CHECK(found(floats{1, 0}).empty());
  auto opposite = card({}, {-2, 0});
  auto older = card({}, {1, 1});
  auto equal = card({}, {0.5f, 0.5f});
  auto same = card({}, {100, 0});
  auto right = card({}, {0, 3});
  auto also_equal = card({}, {2, 2});
  CHECK_EQ(
    found(floats{3, 0}),
    (texts{same.id, older.id, equal.id, also_equal.id, right.id, opposite.id}));
  auto hits = store->similar_cards({{3, 0}, {}, {}, 3});
  REQUIRE_EQ(hits.size(), 3u);
  CHECK_LT(std::abs(hits[0].similarity - 1), 1e-6);
  CHECK_LT(std::abs(hits[1].similarity - std::sqrt(0.5)), 1e-6);
  CHECK_EQ(hits[0].card.scrap_id, same.scrap_id);
  CHECK_EQ(hits[0].card.tags, same.tags);
  CHECK_EQ(hits[0].card.model, "local");
  CHECK(hits[0].card.created_at == same.created_at);
  CHECK(store->similar_cards({{3, 0}, {}, {}, 0}).empty());
}

SCENARIO("cards without a direction, and of other dimensions") {
  auto zero = card({}, {0, 0});
  card({}, {1, 0, 0});
  card({}, {});
  auto worse = card({}, {-1, 0});
  CHECK_EQ(found(floats{1, 0}), (texts{zero.id, worse.id}));
  auto hits = store->similar_cards({{0, 0}, {}, {}, 9});
  REQUIRE_EQ(hits.size(), 2u);
  CHECK_EQ(hits[0].card.id, zero.id);
  CHECK_EQ(hits[0].similarity, 0.0);
  CHECK_EQ(hits[1].similarity, 0.0);
  CHECK(found(floats{}).empty());
  CHECK(found(floats(3'000, 1.0f)).empty());
}

SCENARIO("a search is limited to a user and to what was made before") {
  auto a = card("a", {1, 0}), b = card("b", {1, 0}), nobodys = card({}, {1, 0}),
       late = card("a", {1, 0});
  CHECK_EQ(found(floats{1, 0}), (texts{a.id, b.id, nobodys.id, late.id}));
  card_search x{{1, 0}, "a", {}, 9};
  CHECK_EQ(found(x), (texts{a.id, late.id}));
  x.before = late.created_at;
  CHECK_EQ(found(x), texts{a.id});
  x.before = a.created_at;
  CHECK_EQ(found(x), texts{});
  x.user_id.reset();
  x.before = nobodys.created_at;
  CHECK_EQ(found(x), (texts{a.id, b.id}));
  x.before = timestamp::max();
  CHECK_EQ(found(x).size(), 4u);
  for (const auto& user : {std::string{"c"}, std::string{},
                           std::string("a\0", 2), std::string{"\xff"}})
    CHECK_EQ(found(card_search{{1, 0}, user, {}, 9}), texts{});
}

SCENARIO("cards that come in later are found, also those of others") {
  auto reader = backend.connect();
  auto hits = [&] { return reader->similar_cards({{1, 0}, {}, {}, 9}).size(); };
  CHECK_EQ(hits(), 0u);
  for (size_t i = 1; i <= 3; ++i) {
    card({}, {1, static_cast<float>(i)});
    CHECK_EQ(hits(), i);
    CHECK_EQ(found(floats{1, 0}).size(), i);
  }
  reader->reconnect();
  CHECK_EQ(hits(), 3u);
  // Its scrap goes, the card stays.
  get<done>(delete_scrap_write{card({}, {1, 9}).scrap_id});
  CHECK_EQ(hits(), 4u);
}

END_FIXTURE_SCOPE()

} // namespace conformance_san
