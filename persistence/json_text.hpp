// persistence/json_text.hpp -- a JSON value that many hold and few look into.
#pragma once

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace reeve {

/// An immutable JSON value, as text, as a parsed value, or both; each is made
/// from the other when somebody first asks for it. Copies share it, so that a
/// job can travel from store to actor to watcher without its payload being
/// copied or read. Safe to use from several threads.
class json_text {
public:
  /// null
  json_text() = default;

  json_text(nlohmann::json value); // NOLINT: a value is a value

  /// As nlohmann reads braces.
  json_text(nlohmann::json::initializer_list_t values) // NOLINT: see above
    : json_text(nlohmann::json(values)) {
    // nop
  }

  /// `text` is JSON, such as a database returns; what nlohmann cannot read of
  /// it (PostgreSQL has numbers such as 1e400) has the value null.
  static json_text from_text(std::string text);

  /// `{}`; all of them are one.
  static json_text empty_object();

  const nlohmann::json& value() const;

  operator const nlohmann::json&() const { // NOLINT: see above
    return value();
  }

  const nlohmann::json* operator->() const {
    return &value();
  }

  /// Serialized, without a line break unless the database put one there.
  const std::string& text() const;

  bool is_null() const {
    return value().is_null();
  }

  /// What it holds in memory, roughly; parses nothing.
  size_t bytes() const;

  bool operator==(const json_text& other) const {
    return value() == other.value();
  }

private:
  struct shared;

  std::shared_ptr<shared> what_;
};

} // namespace reeve
