// actors/gateway/fields.hpp -- reads a request's fields and says what is wrong
// with them.
#pragma once

#include "persistence/job.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace reeve {

/// What the sender did wrong; becomes a 4xx answer.
class bad_request : public std::runtime_error {
public:
  bad_request(int status, std::string code, const std::string& detail)
    : std::runtime_error(detail), status_(status), code_(std::move(code)) {
    // nop
  }

  explicit bad_request(const std::string& detail)
    : bad_request(400, "invalid_argument", detail) {
    // nop
  }

  int status() const noexcept {
    return status_;
  }

  const std::string& code() const noexcept {
    return code_;
  }

private:
  int status_;
  std::string code_;
};

/// The members of a JSON object that came from a client. Every accessor throws
/// `bad_request` naming the field, as a JSON pointer, and what is allowed.
class fields {
public:
  /// `where` is the pointer of the object itself. Unknown names are refused.
  fields(const nlohmann::json& object, std::string where,
         std::initializer_list<std::string_view> allowed);

  /// Between 1 and `longest` bytes.
  std::string text(std::string_view name, size_t longest) const;
  std::optional<std::string> optional_text(std::string_view name,
                                           size_t longest) const;
  std::optional<int64_t> optional_integer(std::string_view name, int64_t lowest,
                                          int64_t highest) const;
  std::optional<timestamp> optional_time(std::string_view name) const;
  /// False when absent.
  bool flag(std::string_view name) const;
  /// False when absent.
  bool has_object(std::string_view name) const;
  const nlohmann::json& array(std::string_view name, size_t longest) const;

private:
  const nlohmann::json* find(std::string_view name) const;
  [[noreturn]] void refuse(std::string_view name,
                           const std::string& allowed) const;

  const nlohmann::json& object_;
  std::string where_;
};

/// A whole decimal number; throws `bad_request` naming the parameter.
int64_t parse_integer(std::string_view name, std::string_view text,
                      int64_t lowest, int64_t highest);

/// An RFC 3339 time; throws `bad_request` naming the parameter.
timestamp parse_time(std::string_view name, std::string_view text);

} // namespace reeve
