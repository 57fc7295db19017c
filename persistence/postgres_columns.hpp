// persistence/postgres_columns.hpp -- a row, read from left to right.
#pragma once

#include "persistence/postgres_rows.hpp"

#include <algorithm>
#include <charconv>

namespace reeve {

/// Reads one column after the other. Asking a row for a column copies two
/// shared pointers; this does it once a row. Throws `pqxx::conversion_error`
/// for what is no number or no time.
class postgres_columns {
public:
  explicit postgres_columns(const pqxx::row& row, int first = 0)
    : at_(row.cbegin() + first) {
    // nop
  }

  std::string text() {
    return std::string{view()};
  }

  std::string_view view() {
    return next().view();
  }

  std::optional<std::string> maybe_text() {
    const auto& field = next();
    if (field.is_null())
      return std::nullopt;
    return std::string{field.view()};
  }

  template <class T>
  T number() {
    const auto text = view();
    T result{};
    const auto* const end = text.data() + text.size();
    const auto [rest, err] = std::from_chars(text.data(), end, result);
    if (err != std::errc{} || rest != end)
      throw pqxx::conversion_error{"no number: " + std::string{text}};
    return result;
  }

  uint32_t count() {
    return count_from(number<int32_t>());
  }

  uint64_t amount() {
    return amount_from(number<int64_t>());
  }

  /// Counters that somebody set to nonsense by hand must not stop the job, nor
  /// may those of its usage.
  static uint32_t count_from(int64_t x) {
    return static_cast<uint32_t>(std::max(x, int64_t{0}));
  }

  static uint64_t amount_from(int64_t x) {
    return static_cast<uint64_t>(std::max(x, int64_t{0}));
  }

  unspent_counts unspent() {
    unspent_counts result;
    result.throttled = count();
    result.provider_down = count();
    result.interrupted = count();
    return result;
  }

  usage used() {
    usage result;
    result.input_tokens = amount();
    result.output_tokens = amount();
    result.images = amount();
    return result;
  }

  bool flag() {
    return view() == "t";
  }

  timestamp time() {
    return read_time(next());
  }

  std::optional<timestamp> maybe_time() {
    const auto& field = next();
    if (field.is_null())
      return std::nullopt;
    return read_time(field);
  }

  json_text json() {
    return read_json_text(next());
  }

  /// NULL: none.
  std::vector<int64_t> integers() {
    const auto& field = next();
    if (field.is_null())
      return {};
    return read_integers(field);
  }

private:
  const pqxx::field& next() {
    if (started_)
      ++at_;
    started_ = true;
    return at_;
  }

  pqxx::const_row_iterator at_;
  bool started_ = false;
};

} // namespace reeve
