// net/json_writer.hpp -- writes JSON straight into a text, without a tree.
#pragma once

#include <charconv>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace reeve::net {

/// Appends `text` with its quotation marks, spelled as nlohmann::json dumps it;
/// ill-formed UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

/// Appends one JSON value to a text. Puts the commas; that what is opened is
/// closed and that members have names is the caller's part.
class json_writer {
public:
  explicit json_writer(std::string& out) : out_(out) {
    // nop
  }

  json_writer& begin_object() {
    return open('{');
  }

  json_writer& end_object() {
    return close('}');
  }

  json_writer& begin_array() {
    return open('[');
  }

  json_writer& end_array() {
    return close(']');
  }

  /// The name of the next value. It is ours: nothing in it needs escaping.
  json_writer& key(std::string_view name) {
    separate();
    out_ += '"';
    out_ += name;
    out_ += "\":";
    comma_ = false;
    return *this;
  }

  json_writer& value(std::string_view text) {
    separate();
    append_json_string(out_, text);
    return *this;
  }

  json_writer& value(const char* text) {
    return value(std::string_view{text});
  }

  json_writer& value(bool x) {
    return raw(x ? "true" : "false");
  }

  template <std::integral T>
  requires(!std::same_as<T, bool>) json_writer& value(T x) {
    char digits[24];
    auto end = std::to_chars(digits, digits + sizeof(digits), x).ptr;
    return raw({digits, static_cast<size_t>(end - digits)});
  }

  json_writer& null() {
    return raw("null");
  }

  template <class T>
  json_writer& value(const std::optional<T>& x) {
    return x ? value(*x) : null();
  }

  /// A value that is JSON text already.
  json_writer& raw(std::string_view json) {
    separate();
    out_ += json;
    return *this;
  }

  template <class T>
  json_writer& member(std::string_view name, const T& x) {
    return key(name).value(x);
  }

private:
  json_writer& open(char bracket) {
    separate();
    out_ += bracket;
    comma_ = false;
    return *this;
  }

  json_writer& close(char bracket) {
    out_ += bracket;
    comma_ = true;
    return *this;
  }

  void separate() {
    if (comma_)
      out_ += ',';
    comma_ = true;
  }

  std::string& out_;
  bool comma_ = false;
};

} // namespace reeve::net
