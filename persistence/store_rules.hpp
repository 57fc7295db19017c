// persistence/store_rules.hpp -- what both stores refuse, decide and say, so
// that PostgreSQL and SQLite give the same answers.
#pragma once

#include "persistence/job_store.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace reeve {

/// Longest type, target, user or key in bytes. They stand in indexes, and
/// PostgreSQL cannot index much more than 2,600 bytes.
inline constexpr size_t max_key_bytes = 1'024;

/// Priorities are within plus and minus this: claims look at each one apart.
inline constexpr int32_t max_priority = 1'000;

/// Largest price, grant or balance in tokens, and largest use of one step.
inline constexpr int64_t max_amount = 1'000'000'000'000'000;

/// Most pages of a book.
inline constexpr size_t max_book_pages = 1'000;

/// How far `queue_facts::ahead` counts.
inline constexpr int64_t max_ahead = 10'000;

/// Jobs in a `failure_preview`.
inline constexpr uint32_t preview_sample = 10;

/// Deepest nesting of a payload or result.
inline constexpr size_t max_json_depth = 128;

/// Instants outside the years 1 to 9999 have no RFC 3339 form.
inline constexpr timestamp earliest_timestamp{
  std::chrono::microseconds{-62'135'596'800'000'000}};
inline constexpr timestamp latest_timestamp{
  std::chrono::microseconds{253'402'300'799'999'999}};

/// Says why neither store can keep `value` (U+0000, invalid UTF-8, a number
/// that is not finite, too deep); empty when both can.
std::optional<std::string> unstorable_json(const nlohmann::json& value);

/// Checks of what needs no database. Empty: go on.
std::optional<refusal> check(const enqueue_write& x);
std::optional<refusal> check(const settle_write& x);
std::optional<refusal> check(const step_write& x);
std::optional<refusal> check(const lease_owner& x);
std::optional<refusal> check(const claim_write& x);
std::optional<refusal> check(const prune_write& x);
std::optional<refusal> check(const pause_write& x);
std::optional<refusal> check(const summary_write& x);
std::optional<refusal> check(const grant_write& x);

/// True for `YYYY-MM-DD` with a day that the calendar has.
bool is_date(std::string_view text);

/// False when a listing is empty without a look: a text of the filter cannot
/// occur in a store, or the pattern ends in half an escape (an error in
/// PostgreSQL) or is longer than SQLite takes.
bool can_match(const job_filter& x);
bool can_match(const failure_filter& x);

/// An empty text is stored as NULL.
std::optional<std::string> text_or_null(std::string_view text);

/// A canonical UUID in lower case. Expects `is_uuid(text)`.
std::string lower_case(std::string_view text);

/// What is really done with a run: a cancel request is never lost to a retry.
verdict effective_decision(verdict wanted, bool cancel_requested);

/// Whether the job waits again.
bool puts_back(verdict decision);

/// Whether it is a success that brings nothing but its result: many of them can
/// end together.
bool is_plain(const settle_write& x);

/// `reason` of a job that is put back after `outcome`.
std::string_view waiting_reason(run_outcome outcome);

/// Counts a run that is given back in the counter that fits, if any.
void count_unspent(unspent_counts& counts, run_outcome outcome);

/// Whether a balance after `amount` more (or less) is one a store keeps; else
/// why not.
std::optional<refusal> check_balance(std::string_view user_id, int64_t balance,
                                     int64_t amount);

/// Largest use first: by tokens, then by images, then by key.
void sort_usage(std::vector<usage_row>& rows);

/// `start + delay`, at most `latest_timestamp`; a negative delay is 0.
timestamp later(timestamp start, std::chrono::milliseconds delay);

/// How long from `now` to `due`, rounded up so that nobody wakes too early.
std::chrono::milliseconds until(timestamp now, timestamp due);

// -- texts --------------------------------------------------------------------

inline constexpr std::string_view rescued_reason = "rescued";
inline constexpr std::string_view retried_reason = "retry requested";

/// Error of a run whose node died.
std::string lost_message(std::string_view node);

/// Error of a job that is FAILED since its node died in its last attempt;
/// `deaths` counts this one.
std::string poison_message(int64_t deaths);

/// Why a lost run was decided so, e.g. `attempt 1 of 3 lost`.
std::string lost_why(uint32_t attempts, uint32_t max_attempts);

/// Of an unfinished job that stands in the way of a retry.
refusal key_is_held();
/// Names the balance and the price.
refusal too_expensive(int64_t balance, int64_t price);
/// Of a step one of whose effects has lost its target.
refusal target_is_gone();
refusal no_such(std::string_view what, std::string_view id);
refusal lease_is_lost(int64_t seq, int64_t run);
/// E.g. `a COMPLETED job cannot be retried`.
refusal wrong_state(job_status status, std::string_view past_participle);

} // namespace reeve
