// net/target.cpp -- request targets, decoded.
#include "net/target.hpp"

#include "net/text.hpp"

#include <algorithm>

namespace reeve::net {

namespace {

std::optional<unsigned> hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9')
    return c - '0';
  if (c >= 'a' && c <= 'f')
    return c - 'a' + 10;
  if (c >= 'A' && c <= 'F')
    return c - 'A' + 10;
  return std::nullopt;
}

// Decodes onto `out`; gives the reason when it cannot.
std::optional<std::string> decode(std::string_view raw, bool plus_is_space,
                                  std::string& out) {
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '+' && plus_is_space) {
      out += ' ';
      continue;
    }
    if (raw[i] != '%') {
      out += raw[i];
      continue;
    }
    auto high = i + 1 < raw.size() ? hex_digit(raw[i + 1]) : std::nullopt;
    auto low = i + 2 < raw.size() ? hex_digit(raw[i + 2]) : std::nullopt;
    if (!high || !low)
      return "invalid percent-encoding in the target; `%` must be followed by "
             "two hexadecimal digits";
    out += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  if (out.find('\0') != std::string::npos)
    return "U+0000 is not allowed in the target";
  if (invalid_utf8(out) != std::string_view::npos)
    return "the target must be UTF-8 once it is percent-decoded";
  return std::nullopt;
}

std::optional<std::string> parse_path(std::string_view path,
                                      std::vector<std::string>& out) {
  auto rest = path.substr(1);
  if (rest.empty())
    return std::nullopt;
  for (;;) {
    auto slash = rest.find('/');
    std::string segment;
    if (auto err = decode(rest.substr(0, slash), false, segment))
      return err;
    if (segment == "." || segment == "..")
      return "the path must not have `.` or `..` segments";
    out.push_back(std::move(segment));
    if (slash == std::string_view::npos)
      return std::nullopt;
    rest.remove_prefix(slash + 1);
  }
}

std::optional<std::string> parse_query(std::string_view rest,
                                       http_request& request) {
  while (!rest.empty()) {
    auto end = std::min(rest.find('&'), rest.size());
    auto piece = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (piece.empty())
      continue;
    auto equals = std::min(piece.find('='), piece.size());
    std::pair<std::string, std::string> item;
    if (auto err = decode(piece.substr(0, equals), true, item.first))
      return err;
    auto value = piece.substr(std::min(equals + 1, piece.size()));
    if (auto err = decode(value, true, item.second))
      return err;
    request.query.push_back(std::move(item));
  }
  return std::nullopt;
}

// Takes `http://host:port` off the front; gives the reason when it cannot.
std::optional<std::string> strip_authority(std::string_view& raw,
                                           http_request& request) {
  auto scheme = raw.find("://");
  if (scheme == std::string_view::npos
      || !(iequals(raw.substr(0, scheme), "http")
           || iequals(raw.substr(0, scheme), "https")))
    return "the target must start with `/`, or with `http://` or `https://`";
  raw.remove_prefix(scheme + 3);
  auto end = std::min(raw.find_first_of("/?"), raw.size());
  auto authority = raw.substr(0, end);
  if (!is_authority(authority))
    return "the target's authority must be `host` or `host:port`";
  request.headers.insert_or_assign("host", std::string{authority});
  raw.remove_prefix(end);
  return std::nullopt;
}

} // namespace

bool is_authority(std::string_view text) noexcept {
  constexpr std::string_view others = "-._~!$&'()*+;=:[]%";
  return !text.empty()
    && std::all_of(text.begin(), text.end(), [others](char c) {
         return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z')
           || (c >= 'A' && c <= 'Z')
           || others.find(c) != std::string_view::npos;
       });
}

std::optional<std::string> parse_target(std::string_view raw,
                                        http_request& request) {
  if (raw == "*") {
    if (request.method != "OPTIONS")
      return "the target `*` is for OPTIONS only";
    request.target = "*";
    return std::nullopt;
  }
  if (raw.find('#') != std::string_view::npos)
    return "the target must not have a fragment";
  if (raw.empty() || raw.front() != '/')
    if (auto err = strip_authority(raw, request))
      return err;
  auto question = std::min(raw.find('?'), raw.size());
  auto path = raw.substr(0, question);
  // `http://host?x` has an empty path, which means `/`.
  request.target = path.empty() ? "/" + std::string{raw} : std::string{raw};
  if (auto err = parse_path(path.empty() ? "/" : path, request.segments))
    return err;
  return parse_query(raw.substr(std::min(question + 1, raw.size())), request);
}

} // namespace reeve::net
