// net/json.cpp -- JSON from strangers: strict, bounded, never recursive.
#include "net/json.hpp"

#include "net/text.hpp"

#include <algorithm>

namespace reeve::net {

namespace {

using nlohmann::json;

constexpr size_t max_pointer_bytes = 200;

bool looks_like_integer(std::string_view literal) {
  return literal.find_first_of(".eE") == std::string_view::npos;
}

// Why nlohmann stopped, without its prefix and without the sender's text,
// which may be long, secret, or cut in the middle of a character.
std::string reason_of(std::string_view what) {
  std::string result;
  if (auto i = what.find(": "); i != std::string_view::npos)
    what.remove_prefix(i + 2);
  auto read = what.find("; last read: '");
  result = what.substr(0, read);
  if (read != std::string_view::npos)
    if (auto i = what.rfind("'; expected "); i != std::string_view::npos)
      result += what.substr(i + 1);
  std::replace_if(
    result.begin(), result.end(), [](char c) { return c < 0x20 || c == 0x7f; },
    '?');
  return result;
}

// Builds the value as the parser reports its parts. The parser keeps its own
// stack on the heap, so depth costs no stack here or there.
class builder : public nlohmann::json_sax<json> {
public:
  explicit builder(json_limits limits) : limits_(limits) {
    // nop
  }

  json result;

  bool null() override {
    return put(nullptr);
  }

  bool boolean(bool value) override {
    return put(value);
  }

  bool number_integer(number_integer_t value) override {
    return put(value);
  }

  bool number_unsigned(number_unsigned_t value) override {
    return put(value);
  }

  bool number_float(number_float_t value, const string_t& literal) override {
    if (looks_like_integer(literal))
      refuse_number(literal);
    return put(value);
  }

  bool string(string_t& value) override {
    if (value.find('\0') != string_t::npos)
      refuse("U+0000 is not allowed in a string");
    return put(std::move(value));
  }

  bool binary(binary_t&) override {
    return false; // not in JSON text
  }

  bool start_object(size_t) override {
    return open(json::object());
  }

  bool start_array(size_t) override {
    return open(json::array());
  }

  bool end_object() override {
    return close();
  }

  bool end_array() override {
    return close();
  }

  bool key(string_t& name) override {
    auto& top = stack_.back();
    top.slot = nullptr;
    if (name.find('\0') != string_t::npos)
      refuse("U+0000 is not allowed in a name");
    auto [i, added] =
      top.container->get_ref<json::object_t&>().emplace(name, json{});
    top.name = std::move(name);
    top.slot = &i->second;
    if (!added)
      refuse("the name stands here twice; each may occur once in an object");
    return true;
  }

  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::detail::exception& err) override {
    constexpr int out_of_range = 406;
    if (err.id == out_of_range)
      refuse_number(token);
    throw json_error("invalid JSON at byte " + std::to_string(position)
                     + where(" (in ", ")") + ": " + reason_of(err.what()));
  }

private:
  struct level {
    json* container;
    json* slot = nullptr; // objects: where the value of `name` goes
    std::string name;
  };

  bool put(json value) {
    place(std::move(value));
    return true;
  }

  json* place(json value) {
    if (stack_.empty()) {
      result = std::move(value);
      return &result;
    }
    auto& top = stack_.back();
    if (++elements_ > limits_.elements)
      refuse("more than " + std::to_string(limits_.elements)
             + " members and elements; at most that many are allowed");
    if (top.container->is_object()) {
      *top.slot = std::move(value);
      return top.slot;
    }
    auto& array = top.container->get_ref<json::array_t&>();
    array.push_back(std::move(value));
    return &array.back();
  }

  bool open(json empty) {
    if (stack_.size() >= limits_.depth)
      refuse("nested deeper than the " + std::to_string(limits_.depth)
             + " levels allowed");
    // An open container is its parent's last child, so the parent cannot grow
    // and move it before it is closed.
    auto* container = place(std::move(empty));
    stack_.push_back({container, nullptr, {}});
    return true;
  }

  bool close() {
    stack_.pop_back();
    return true;
  }

  [[noreturn]] void refuse_number(std::string_view literal) const {
    if (looks_like_integer(literal))
      refuse("an integer must be between -9223372036854775808 and "
             "18446744073709551615; send longer ones as strings");
    refuse("a number must be finite, below 1.8e308 in size");
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw json_error(where("at ", ": ") + why);
  }

  // The JSON pointer of what is being read, between `before` and `after`.
  std::string where(std::string_view before, std::string_view after) const {
    std::string pointer;
    for (const auto& x : stack_) {
      if (x.container->is_array()) {
        // The innermost one is about to get its next element; the others
        // hold the container that is open already.
        auto index = x.container->size() - (&x == &stack_.back() ? 0 : 1);
        pointer += '/' + std::to_string(index);
      } else if (x.slot != nullptr) {
        pointer += '/';
        for (auto c : x.name)
          pointer += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
      }
    }
    if (pointer.size() > max_pointer_bytes) {
      auto cut = max_pointer_bytes;
      while (cut > 0 && (pointer[cut] & 0xc0) == 0x80)
        --cut;
      pointer.resize(cut);
      pointer += "...";
    }
    if (pointer.empty())
      pointer = "the top level";
    return std::string{before} + pointer + std::string{after};
  }

  json_limits limits_;
  size_t elements_ = 0;
  std::vector<level> stack_;
};

} // namespace

json parse_json(std::string_view text, json_limits limits) {
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    throw json_error("the text is empty; one JSON value is expected");
  // The parser skips a byte order mark and takes U+0000 for the end of the
  // text, so what stands behind one would be accepted unread.
  if (text.substr(0, 3) == "\xef\xbb\xbf")
    throw json_error("the text starts with a byte order mark; send UTF-8 "
                     "without one");
  if (auto i = text.find('\0'); i != std::string_view::npos)
    throw json_error("U+0000 at byte " + std::to_string(i)
                     + "; it is not allowed in JSON");
  if (auto i = invalid_utf8(text); i != std::string_view::npos)
    throw json_error("invalid UTF-8 at byte " + std::to_string(i)
                     + "; JSON must be UTF-8");
  builder sax{limits};
  json::sax_parse(text, &sax);
  return std::move(sax.result);
}

std::string dump_json(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace reeve::net
