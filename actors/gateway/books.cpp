// actors/gateway/books.cpp -- picture books: ordered and paid for, looked at,
// and drawn again.
#include "actors/gateway/fields.hpp"
#include "actors/gateway/json_values.hpp"
#include "actors/gateway/routes.hpp"
#include "net/text.hpp"
#include "persistence/uuid.hpp"
#include "processors/text/plain_text.hpp"

#include <algorithm>

namespace reeve {

namespace {

constexpr int64_t most_pages = 30;
constexpr size_t longest_prompt = 20'000;
constexpr size_t longest_image_prompt = 4'000;

constexpr std::string_view book_type = "BOOK_GENERATION";
constexpr std::string_view redraw_type = "IMAGE_REGEN";

/// A redraw's answer names the job only, a new book's the book, too.
enum class answer_form { book, redraw };

struct sale {
  answer_form form;
  int64_t price;
  std::string user;
};

void respond(exchange& x, const sale& what, const enqueued& added,
             int64_t balance) {
  ordered_json body;
  auto location = "/api/jobs/" + added.job.id;
  if (what.form == answer_form::book) {
    body["content_id"] = added.job.target_id;
    location = "/api/contents/" + added.job.target_id;
  }
  body["job_id"] = added.job.id;
  body["status"] = to_string(added.job.status);
  body["tokens_charged"] = what.price;
  body["balance"] = balance;
  auto response = json_response(202, body);
  response.headers.emplace_back("Location", std::move(location));
  note_replay(added, response);
  x.respond(std::move(response));
}

void answer_sold(exchange& x, const sale& what, const enqueued& added) {
  require_visible(x, added.job.user_id);
  if (added.balance)
    return respond(x, what, added, *added.balance);
  x.ask<account>(
    [what, added](exchange& x, account& found) {
      respond(x, what, added, found.balance);
    },
    account_query{what.user, 1});
}

void refuse_unpaid(exchange& x, const sale& what) {
  x.ask<account>(
    [what](exchange& x, account& found) {
      x.fail(402, "insufficient_funds",
             "This costs " + std::to_string(what.price)
               + " tokens; the balance is " + std::to_string(found.balance),
             {{"price", what.price}, {"balance", found.balance}});
    },
    account_query{what.user, 1});
}

// The price is taken in the transaction that adds the job.
void sell(exchange& x, answer_form form, enqueue_write order) {
  auto known = x.context().types.find(order.type);
  if (known == x.context().types.end())
    throw bad_request(404, "not_found", "This node has no type " + order.type);
  order.max_attempts = known->second.max_attempts;
  take_header_fields(x, order);
  sale what{form, order.price, *order.user_id};
  x.ask_or<enqueued>(
    [what](exchange& x, enqueued& added) { answer_sold(x, what, added); },
    [what](exchange& x, caf::error& err) {
      if (err == ec::insufficient_funds)
        refuse_unpaid(x, what);
      else
        x.fail(err);
    },
    std::move(order));
}

// Nothing can be made of it: better said before it is paid for.
void refuse_blank(std::string_view name, std::string_view value) {
  if (text::is_blank(value))
    throw bad_request('/' + std::string{name}
                      + " must have something to read in it");
}

[[noreturn]] void refuse_page() {
  throw bad_request(404, "not_found", "The book has no such page");
}

int page_number(const exchange& x) {
  const auto& text = x.parameter("page");
  if (!net::is_digits(text) || text.size() > 3 || text.front() == '0')
    refuse_page();
  return std::stoi(text);
}

// Both its existence and its owner are the book's to tell.
void with_book(exchange& x, std::function<void(exchange&, const content&)> f) {
  x.ask<content>(
    [f = std::move(f)](exchange& x, content& found) {
      require_visible(x, found.user_id);
      f(x, found);
    },
    content_query{x.parameter("id")});
}

const page* find_page(const content& book, int number) {
  auto i = std::find_if(book.pages.begin(), book.pages.end(),
                        [number](const page& x) { return x.number == number; });
  return i != book.pages.end() ? &*i : nullptr;
}

std::vector<std::pair<std::string, std::string>> image_headers(
  const image_info& x) {
  std::vector<std::pair<std::string, std::string>> result{
    {"Content-Type", x.content_type},
    {"ETag", etag_of(x)},
    // The same address shows another picture after a redraw.
    {"Cache-Control", "private, no-cache"},
    {"X-Content-Type-Options", "nosniff"}};
  // Opened by itself an SVG is a document of this origin: it may do nothing.
  if (x.content_type.starts_with("image/svg"))
    result.emplace_back("Content-Security-Policy",
                        "sandbox; default-src 'none'; "
                        "style-src 'unsafe-inline'; img-src data:");
  return result;
}

void send_image(exchange& x, const std::string& content_id, int number) {
  x.ask<page_image>(
    [](exchange& x, page_image& found) {
      // Drawn again since the look at the book, it has its own headers.
      x.respond(
        net::http_response{200, image_headers(found.info), *found.data});
    },
    image_query{content_id, number});
}

void redraw(exchange& x, const content& book, int number,
            const std::optional<std::string>& prompt) {
  if (number > book.page_count)
    refuse_page();
  if (!is_final(book.status))
    throw bad_request(409, "conflict", "The book is not finished yet");
  const auto* known = find_page(book, number);
  if (known == nullptr || known->text.empty())
    throw bad_request(409, "conflict", "The book has no text to draw");
  enqueue_write order;
  order.id = make_uuid();
  order.type = redraw_type;
  order.target_id = book.id;
  order.user_id = book.user_id.value_or(std::string{local_user});
  nlohmann::json payload = {{"page", number}};
  if (prompt)
    payload["prompt"] = *prompt;
  order.payload = std::move(payload);
  order.price = x.context().prices.redraw;
  sell(x, answer_form::redraw, std::move(order));
}

} // namespace

void post_generate(exchange& x) {
  x.allow_query({});
  auto body = json_body(x);
  fields in{body, "", {"title", "prompt", "pages", "user_id"}};
  content book;
  book.title = in.text("title", longest_title);
  book.prompt = in.text("prompt", longest_prompt);
  refuse_blank("title", book.title);
  refuse_blank("prompt", book.prompt);
  auto pages = in.optional_integer("pages", 1, most_pages);
  if (!pages)
    throw bad_request("/pages required: a whole number from 1 to "
                      + std::to_string(most_pages));
  book.page_count = static_cast<int>(*pages);
  book.user_id = owner_of(x, in.optional_text("user_id", longest_user))
                   .value_or(std::string{local_user});
  book.id = make_uuid();
  enqueue_write order;
  order.id = book.job_id = make_uuid();
  order.type = book_type;
  order.target_id = book.id;
  order.user_id = book.user_id;
  order.payload = {
    {"title", book.title}, {"prompt", book.prompt}, {"pages", *pages}};
  const auto& prices = x.context().prices;
  order.price = prices.book + int64_t{prices.page} * *pages;
  order.new_content = std::move(book);
  sell(x, answer_form::book, std::move(order));
}

void get_content(exchange& x) {
  x.allow_query({});
  with_book(x, [](exchange& x, const content& found) {
    x.respond(200, to_json(found));
  });
}

void get_contents(exchange& x) {
  require_operator(x);
  x.allow_query({"limit", "cursor"});
  auto limit = page_limit(x);
  x.ask<content_list>(
    [limit](exchange& x, content_list& found) {
      auto cursor = cut_page(found, limit);
      x.respond(200, {{"contents", to_json(found)}, {"next_cursor", cursor}});
    },
    list_contents_query{id_cursor(x), limit + 1});
}

void get_image(exchange& x) {
  x.allow_query({});
  auto number = page_number(x);
  with_book(x, [number](exchange& x, const content& found) {
    const auto* known = find_page(found, number);
    if (known == nullptr)
      refuse_page();
    if (!known->image)
      throw bad_request(404, "not_found", "The page has no picture yet");
    auto field = x.request().header("if-none-match");
    if (field && matches(*field, etag_of(*known->image)))
      return x.respond(
        net::http_response{304, image_headers(*known->image), {}});
    send_image(x, found.id, number);
  });
}

void post_image(exchange& x) {
  x.allow_query({});
  auto number = page_number(x);
  auto body = json_body_or_empty(x);
  fields in{body, "", {"prompt"}};
  auto prompt = in.optional_text("prompt", longest_image_prompt);
  if (prompt)
    refuse_blank("prompt", *prompt);
  with_book(x, [number, prompt](exchange& x, const content& found) {
    redraw(x, found, number, prompt);
  });
}

} // namespace reeve
