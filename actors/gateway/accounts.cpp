// actors/gateway/accounts.cpp -- who has how many tokens, and what the
// providers were paid for.
#include "actors/gateway/fields.hpp"
#include "actors/gateway/json_values.hpp"
#include "actors/gateway/routes.hpp"

#include <algorithm>

namespace reeve {

namespace {

constexpr auto default_span = std::chrono::days{30};

usage_group group_named(std::string_view text) {
  if (text == "type")
    return usage_group::type;
  if (text == "user")
    return usage_group::user;
  if (text == "day")
    return usage_group::day;
  throw bad_request("group_by must be type, user or day");
}

// The rows of other users are nobody else's business, nor are sums of them.
void keep_own(const exchange& x, usage_rows& rows) {
  auto own = x.who().user_id.value_or("");
  rows.erase(std::remove_if(rows.begin(), rows.end(),
                            [&own](const usage_row& row) {
                              return row.key.empty() || row.key != own;
                            }),
             rows.end());
}

} // namespace

void get_account(exchange& x) {
  x.allow_query({"user_id"});
  account_query what;
  what.user_id =
    owner_of(x, x.query("user_id")).value_or(std::string{local_user});
  if (what.user_id.empty() || what.user_id.size() > longest_user)
    throw bad_request("user_id must have 1 to " + std::to_string(longest_user)
                      + " bytes");
  x.ask<account>(
    [](exchange& x, account& found) { x.respond(200, to_json(found)); },
    std::move(what));
}

void get_usage(exchange& x) {
  x.allow_query({"from", "to", "group_by"});
  auto by = x.query("group_by").value_or(x.who().is_operator ? "type" : "user");
  usage_query what;
  what.by = group_named(by);
  if (!x.who().is_operator && what.by != usage_group::user)
    throw bad_request(403, "forbidden",
                      "A client's key sees its own usage only: group_by=user");
  what.to = wall_clock();
  if (auto to = x.query("to"))
    what.to = parse_time("to", *to);
  what.from = what.to - default_span;
  if (auto from = x.query("from"))
    what.from = parse_time("from", *from);
  if (what.from >= what.to)
    throw bad_request("from must be before to");
  auto from = what.from;
  auto to = what.to;
  x.ask<usage_rows>(
    [from, to, by](exchange& x, usage_rows& found) {
      if (!x.who().is_operator)
        keep_own(x, found);
      usage total;
      auto rows = ordered_json::array();
      for (const auto& row : found) {
        total += row.used;
        rows.push_back(to_json(row));
      }
      x.respond(200,
                {{"from", to_rfc3339(from)},
                 {"to", to_rfc3339(to)},
                 {"group_by", by},
                 {"rows", std::move(rows)},
                 {"total", to_json(total)}});
    },
    std::move(what));
}

} // namespace reeve
