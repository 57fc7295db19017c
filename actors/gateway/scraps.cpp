// actors/gateway/scraps.cpp -- scraps and the cards made of them.
#include "actors/gateway/fields.hpp"
#include "actors/gateway/json_values.hpp"
#include "actors/gateway/routes.hpp"
#include "persistence/uuid.hpp"
#include "processors/text/plain_text.hpp"

namespace reeve {

namespace {

constexpr size_t longest_url = 4'000;
constexpr size_t longest_question = 4'000;
constexpr int64_t most_hits = 100;

constexpr std::string_view card_type = "CARD_ANALYSIS";

// Everybody's: for operators.
void list_all_cards(exchange& x) {
  require_operator(x);
  x.allow_query({"scrap_id", "limit", "cursor"});
  auto limit = page_limit(x);
  x.ask<card_list>(
    [limit](exchange& x, card_list& found) {
      auto cursor = cut_page(found, limit);
      auto cards = ordered_json::array();
      for (const auto& card : found)
        cards.push_back(without_embedding(card));
      x.respond(200, {{"cards", std::move(cards)}, {"next_cursor", cursor}});
    },
    list_cards_query{id_cursor(x), limit + 1});
}

} // namespace

void post_scrap(exchange& x) {
  x.allow_query({});
  auto body = json_body(x);
  fields in{body, "", {"content", "title", "url"}};
  scrap made;
  made.id = make_uuid();
  made.content = in.text("content", x.context().http.max_body_bytes);
  made.title = in.optional_text("title", longest_title);
  made.url = in.optional_text("url", longest_url);
  made.user_id = x.who().user_id;
  enqueue_write what;
  what.id = make_uuid();
  what.type = card_type;
  what.target_id = made.id;
  what.user_id = made.user_id;
  what.max_attempts = x.context().types.at(what.type).max_attempts;
  what.new_scrap = std::move(made);
  take_header_fields(x, what);
  x.ask<enqueued>(
    [](exchange& x, enqueued& added) {
      require_visible(x, added.job.user_id);
      auto response = json_response(
        200, {{"scrap_id", added.job.target_id}, {"job_id", added.job.id}});
      response.headers.emplace_back("Location",
                                    "/api/scraps/" + added.job.target_id);
      note_replay(added, response);
      x.respond(std::move(response));
    },
    std::move(what));
}

void get_scrap(exchange& x) {
  x.allow_query({});
  x.ask<scrap>(
    [](exchange& x, scrap& found) {
      require_visible(x, found.user_id);
      x.respond(200, to_json(found));
    },
    scrap_atom_v, x.parameter("id"));
}

void delete_scrap(exchange& x) {
  x.allow_query({});
  auto id = x.parameter("id");
  x.ask<scrap>(
    [id](exchange& x, scrap& found) {
      require_visible(x, found.user_id);
      x.ask<done>(
        [](exchange& x, done&) {
          x.respond(net::http_response{204, {}, {}});
        },
        delete_scrap_write{id});
    },
    scrap_atom_v, id);
}

void get_card(exchange& x) {
  x.allow_query({});
  x.ask<knowledge_card>(
    [](exchange& x, knowledge_card& found) {
      require_visible(x, found.user_id);
      x.respond(200, to_json(found));
    },
    card_atom_v, x.parameter("id"));
}

void get_cards(exchange& x) {
  auto scrap_id = x.query("scrap_id");
  if (!scrap_id)
    return list_all_cards(x);
  x.allow_query({"scrap_id"});
  x.ask<card_list>(
    [](exchange& x, card_list& found) {
      auto cards = ordered_json::array();
      for (const auto& card : found)
        if (x.who().may_see(card.user_id))
          cards.push_back(to_json(card));
      x.respond(200, {{"cards", std::move(cards)}});
    },
    cards_atom_v, *scrap_id);
}

void get_recall(exchange& x) {
  x.allow_query({"q", "limit"});
  recall_query what;
  what.text = x.query("q").value_or("");
  if (text::is_blank(what.text) || what.text.size() > longest_question)
    throw bad_request("q must have 1 to " + std::to_string(longest_question)
                      + " bytes, and something to read in it");
  if (auto limit = x.query("limit"))
    what.limit =
      static_cast<uint32_t>(parse_integer("limit", *limit, 1, most_hits));
  // An operator looks through everybody's cards.
  if (!x.who().is_operator)
    what.user_id = x.who().user_id;
  x.ask<card_hits>(
    [](exchange& x, card_hits& found) {
      x.respond(200, {{"cards", to_json(found)}});
    },
    std::move(what));
}

} // namespace reeve
