// persistence/fingerprint.cpp -- one pass over a message, word by word.
#include "persistence/fingerprint.hpp"

#include "persistence/digest.hpp"
#include "persistence/text.hpp"
#include "persistence/uuid.hpp"

#include <algorithm>

namespace reeve {

namespace {

// Shorter runs of hexadecimal digits are words and numbers, e.g. `cafe`.
constexpr size_t min_hex_id = 8;
// Shorter words of letters and digits are names, e.g. `sha256`.
constexpr size_t min_mixed_id = 16;
// What is longer between two quotes is no id.
constexpr size_t max_quoted_id = 128;
constexpr size_t uuid_size = 36;
constexpr size_t fingerprint_size = 16;

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

constexpr bool is_word(char c) {
  return is_digit(c) || is_letter(c) || c == '_';
}

constexpr bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

template <class Predicate>
size_t run_of(std::string_view text, Predicate fits) {
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), fits)
                             - text.begin());
}

bool has_digit(std::string_view text) {
  return std::any_of(text.begin(), text.end(), is_digit);
}

bool is_hex_number(std::string_view word) {
  if (word.starts_with("0x") || word.starts_with("0X"))
    word.remove_prefix(2);
  else if (word.size() < min_hex_id || run_of(word, is_digit) == word.size())
    return false;
  return has_digit(word) && run_of(word, is_hex) == word.size();
}

bool is_mixed_id(std::string_view word) {
  return word.size() >= min_mixed_id && has_digit(word)
    && std::any_of(word.begin(), word.end(), is_letter);
}

// The functions below say how many bytes of `rest` are such a thing; 0: none.

size_t url_size(std::string_view rest, size_t word) {
  const auto scheme = run_of(rest.substr(0, word + 16), [](char c) {
    return is_word(c) || c == '+' || c == '.' || c == '-';
  });
  if (!is_letter(rest.front()) || rest.substr(scheme, 3) != "://")
    return 0;
  auto size = run_of(rest, [](char c) {
    return !is_space(c)
      && std::string_view{"\"'`<>"}.find(c) == std::string_view::npos;
  });
  // A sentence's punctuation is not the URL's.
  while (std::string_view{".,;:!?)]}"}.find(rest[size - 1])
         != std::string_view::npos)
    --size;
  return std::max(size, scheme + 3);
}

size_t uuid_at(std::string_view rest) {
  if (!is_uuid(rest.substr(0, uuid_size)))
    return 0;
  return rest.size() > uuid_size && is_word(rest[uuid_size]) ? 0 : uuid_size;
}

size_t port_size(std::string_view rest) {
  if (!rest.starts_with(':'))
    return 0;
  const auto digits = run_of(rest.substr(1), is_digit);
  return digits == 0 ? 0 : digits + 1;
}

size_t ipv4_size(std::string_view rest) {
  size_t size = 0;
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && !rest.substr(size).starts_with('.'))
      return 0;
    size += part > 0;
    const auto digits = run_of(rest.substr(size), is_digit);
    if (digits == 0 || digits > 3)
      return 0;
    size += digits;
  }
  return size + port_size(rest.substr(size));
}

size_t bracketed_ipv6_size(std::string_view rest) {
  const auto inside = run_of(
    rest.substr(1), [](char c) { return is_hex(c) || c == ':' || c == '.'; });
  const auto address = rest.substr(1, inside);
  if (std::count(address.begin(), address.end(), ':') < 2
      || !rest.substr(1 + inside).starts_with(']'))
    return 0;
  const auto size = inside + 2;
  return size + port_size(rest.substr(size));
}

size_t quoted_id_size(std::string_view rest) {
  const auto inside = run_of(rest.substr(1, max_quoted_id), [](char c) {
    return is_word(c) || c == '-' || c == '.' || c == ':' || c == '/';
  });
  const auto id = rest.substr(1, inside);
  const auto closes = rest.substr(1 + inside).starts_with(rest.front());
  return closes && has_digit(id) ? inside + 2 : 0;
}

// Digits, with what groups them: `1,000.5` is one number.
size_t number_size(std::string_view rest) {
  auto size = run_of(rest, is_digit);
  while (size + 1 < rest.size() && (rest[size] == '.' || rest[size] == ',')
         && is_digit(rest[size + 1]))
    size += 1 + run_of(rest.substr(size + 1), is_digit);
  return size;
}

std::string numbers_replaced(std::string_view word) {
  std::string result;
  for (size_t i = 0; i < word.size();) {
    if (!is_digit(word[i])) {
      result += word[i++];
      continue;
    }
    result += "<n>";
    i += run_of(word.substr(i), is_digit);
  }
  return result;
}

class scanner {
public:
  explicit scanner(std::string_view text) : rest_(text) {
  }

  std::string run() {
    // Four bytes a code point: what follows would be cut off.
    while (!rest_.empty() && result_.size() < 4 * max_pattern_code_points)
      step();
    while (result_.ends_with(' '))
      result_.pop_back();
    return std::string{first_code_points(result_, max_pattern_code_points)};
  }

private:
  void step() {
    const auto c = rest_.front();
    if (is_space(c)) {
      rest_.remove_prefix(run_of(rest_, is_space));
      if (!result_.empty())
        result_ += ' ';
    } else if (is_word(c)) {
      word();
    } else if (const auto size = c == '[' ? bracketed_ipv6_size(rest_) : 0) {
      take(size, "<ip>");
    } else if (const auto id = is_quote(c) ? quoted_id_size(rest_) : 0) {
      take(id, std::string{c} + "<id>" + c);
    } else {
      take(1, std::string{c});
    }
  }

  void word() {
    const auto size = run_of(rest_, is_word);
    const auto text = rest_.substr(0, size);
    if (const auto url = url_size(rest_, size))
      take(url, "<url>");
    else if (const auto uuid = uuid_at(rest_))
      take(uuid, "<id>");
    else if (const auto ip = ipv4_size(rest_))
      take(ip, "<ip>");
    else if (is_hex_number(text) || is_mixed_id(text))
      take(size, "<id>");
    else if (is_digit(text.front()) && run_of(text, is_digit) == size)
      take(number_size(rest_), "<n>");
    else
      take(size, numbers_replaced(text));
  }

  static bool is_quote(char c) {
    return c == '"' || c == '\'' || c == '`';
  }

  void take(size_t size, std::string_view replacement) {
    result_ += replacement;
    rest_.remove_prefix(size);
  }

  std::string_view rest_;
  std::string result_;
};

} // namespace

std::string error_pattern(std::string_view message) {
  return scanner{sanitized(message)}.run();
}

std::string fingerprint_of(std::string_view message) {
  return sha256_hex(error_pattern(message)).substr(0, fingerprint_size);
}

} // namespace reeve
