// net/json_writer.cpp -- JSON strings, a run of plain characters at a time.
#include "net/json_writer.hpp"

#include "net/json.hpp"
#include "net/text.hpp"

namespace reeve::net {

namespace {

bool is_plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

void append_escaped(std::string& out, char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  switch (c) {
    case '"':
      out += "\\\"";
      break;
    case '\\':
      out += "\\\\";
      break;
    case '\b':
      out += "\\b";
      break;
    case '\f':
      out += "\\f";
      break;
    case '\n':
      out += "\\n";
      break;
    case '\r':
      out += "\\r";
      break;
    case '\t':
      out += "\\t";
      break;
    default:
      out += "\\u00";
      out += digits[static_cast<unsigned char>(c) >> 4];
      out += digits[c & 0xf];
  }
}

} // namespace

void append_json_string(std::string& out, std::string_view text) {
  // How much of a broken character one U+FFFD stands for is nlohmann's to say.
  if (invalid_utf8(text) != std::string_view::npos) {
    out += dump_json(std::string{text});
    return;
  }
  out += '"';
  size_t written = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (is_plain(text[i]))
      continue;
    out += text.substr(written, i - written);
    append_escaped(out, text[i]);
    written = i + 1;
  }
  out += text.substr(written);
  out += '"';
}

} // namespace reeve::net
