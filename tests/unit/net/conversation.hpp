// tests/unit/net/conversation.hpp -- plays bytes into a connection and reads
// its answers back.
#pragma once

#include "net/connection.hpp"
#include "net/text.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace reeve::net::test {

inline const connection::clock::time_point start{};

/// An answer as a client reads it.
struct answer {
  int status = 0;
  std::map<std::string, std::string> headers; // lower case
  std::string body;
};

/// Reads one answer off `bytes`, as RFC 9112, section 6.3 has it; status 0 when
/// there is none.
inline answer take_answer(std::string_view& bytes, bool to_head = false) {
  answer result;
  auto end = bytes.find("\r\n\r\n");
  if (bytes.substr(0, 9) != "HTTP/1.1 " || end == std::string_view::npos)
    return result;
  result.status = std::stoi(std::string{bytes.substr(9, 3)});
  auto head = bytes.substr(0, end + 2);
  bytes.remove_prefix(end + 4);
  head.remove_prefix(head.find("\r\n") + 2);
  while (!head.empty()) {
    auto line = head.substr(0, head.find("\r\n"));
    auto colon = line.find(": ");
    result.headers[to_lower(line.substr(0, colon))] = line.substr(colon + 2);
    head.remove_prefix(line.size() + 2);
  }
  if (to_head || result.status == 204 || result.status == 304
      || result.status < 200)
    return result;
  auto length = result.headers.find("content-length");
  auto n =
    length == result.headers.end() ? bytes.size() : std::stoul(length->second);
  result.body = bytes.substr(0, n);
  bytes.remove_prefix(std::min<size_t>(n, bytes.size()));
  return result;
}

/// What a conversation came to.
struct outcome {
  std::vector<http_request> requests;
  std::vector<int> statuses;
  /// Bytes behind the last whole answer.
  std::string rest;
  bool finished = false;
};

/// Each request is answered with 200 as soon as it is handed out.
inline outcome talk(const std::vector<std::string>& pieces,
                    connection_limits limits = {}) {
  connection uut{limits, start};
  outcome result;
  std::string output;
  for (const auto& piece : pieces) {
    uut.receive(piece, start);
    while (auto request = uut.next_request(start)) {
      result.requests.push_back(*request);
      uut.respond({200, {}, "ok"}, start);
    }
    output += uut.take_output();
  }
  result.finished = uut.finished();
  std::string_view bytes{output};
  size_t answered = 0;
  while (!bytes.empty()) {
    auto is_head = answered < result.requests.size()
      && result.requests[answered].method == "HEAD";
    auto x = take_answer(bytes, is_head);
    if (x.status == 0)
      break;
    if (x.status == 100)
      continue; // depends on what arrived with the head
    ++answered;
    result.statuses.push_back(x.status);
  }
  result.rest = bytes;
  return result;
}

inline std::vector<std::string> in_bytes(std::string_view text) {
  std::vector<std::string> result;
  for (auto c : text)
    result.emplace_back(1, c);
  return result;
}

inline std::vector<std::string> in_splits(std::string_view text,
                                          unsigned seed) {
  std::mt19937 random{seed};
  std::vector<std::string> result;
  while (!text.empty()) {
    auto n = std::min<size_t>(1 + random() % 23, text.size());
    result.emplace_back(text.substr(0, n));
    text.remove_prefix(n);
  }
  return result;
}

} // namespace reeve::net::test
