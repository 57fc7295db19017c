// actors/gateway/failures.cpp -- what failed, by what it has in common, and how
// to have it run again.
#include "actors/gateway/fields.hpp"
#include "actors/gateway/json_values.hpp"
#include "actors/gateway/routes.hpp"

#include <algorithm>

namespace reeve {

namespace {

constexpr size_t longest_type = 100;
constexpr size_t longest_pattern = 4'000;
constexpr size_t longest_fingerprint = 200;
constexpr int64_t most_retries = 1'000'000;

/// Small: other writes wait for no more than this many retries.
constexpr int64_t page_size = 500;

void check_span(const failure_filter& x) {
  if (x.from && x.to && *x.from >= *x.to)
    throw bad_request("from must be before to");
}

/// One bulk retry: its pages are transactions of their own, so a client that
/// goes away leaves the rest as it was.
struct bulk_retry {
  bulk_retry_write next;
  std::optional<int64_t> limit;
  failure_preview before;
  int64_t examined = 0;
  int64_t retried = 0;
};
using bulk_retry_ptr = std::shared_ptr<bulk_retry>;

ordered_json sample_of(const failure_preview& x) {
  auto result = ordered_json::array();
  for (const auto& member : x.sample)
    result.push_back({{"id", member.id},
                      {"type", member.type},
                      {"error_message", or_null(member.error_message)},
                      {"finished_at", or_null(member.finished_at)}});
  return result;
}

void finish(exchange& x, const bulk_retry& what) {
  // Jobs may have failed since the look at them.
  auto matched = std::max(what.before.matched, what.examined);
  x.respond(200,
            {{"matched", matched},
             {"retried", what.retried},
             {"passed_over", what.examined - what.retried},
             {"sample", sample_of(what.before)}});
}

void retry_page(exchange& x, const bulk_retry_ptr& what) {
  auto left = what->limit ? *what->limit - what->retried : page_size;
  if (left <= 0)
    return finish(x, *what);
  what->next.limit = static_cast<uint32_t>(std::min(left, page_size));
  x.ask<bulk_retried>(
    [what](exchange& x, bulk_retried& page) {
      what->examined += page.matched;
      what->retried += static_cast<int64_t>(page.jobs.size());
      what->next.before_seq = page.next_before_seq;
      what->next.failed_until = page.failed_until;
      if (page.next_before_seq)
        retry_page(x, what);
      else
        finish(x, *what);
    },
    what->next);
}

bulk_retry_ptr bulk_retry_from(const fields& in) {
  if (in.text("status", 20) != "FAILED")
    throw bad_request("/status must be FAILED");
  auto result = std::make_shared<bulk_retry>();
  auto& filter = result->next.filter;
  filter.type = in.optional_text("type", longest_type);
  filter.error_like = in.optional_text("error_like", longest_pattern);
  filter.fingerprint = in.optional_text("fingerprint", longest_fingerprint);
  if (filter.error_like && filter.fingerprint)
    throw bad_request("Send either /error_like or /fingerprint");
  filter.from = in.optional_time("from");
  filter.to = in.optional_time("to");
  check_span(filter);
  result->limit = in.optional_integer("limit", 1, most_retries);
  return result;
}

} // namespace

void get_errors(exchange& x) {
  require_operator(x);
  x.allow_query({"type", "from", "to", "limit"});
  errors_query what;
  what.filter.type = x.query("type");
  if (auto from = x.query("from"))
    what.filter.from = parse_time("from", *from);
  if (auto to = x.query("to"))
    what.filter.to = parse_time("to", *to);
  check_span(what.filter);
  what.limit = page_limit(x);
  x.ask<error_groups>(
    [](exchange& x, error_groups& found) {
      x.respond(200, {{"errors", to_json(found)}});
    },
    std::move(what));
}

void post_bulk_retry(exchange& x) {
  require_operator(x);
  x.allow_query({});
  auto body = json_body(x);
  fields in{body,
            "",
            {"status", "type", "error_like", "fingerprint", "from", "to",
             "limit", "dry_run"}};
  auto what = bulk_retry_from(in);
  auto is_dry_run = in.flag("dry_run");
  preview_query look{what->next.filter};
  x.ask<failure_preview>(
    [what, is_dry_run](exchange& x, failure_preview& found) {
      what->before = std::move(found);
      if (is_dry_run)
        finish(x, *what);
      else
        retry_page(x, what);
    },
    std::move(look));
}

} // namespace reeve
