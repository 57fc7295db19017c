// processors/ai/completion_stream.cpp -- the chunks of a chat completion.
#include "processors/ai/completion_stream.hpp"

#include "processors/ai/remote.hpp"

namespace reeve {

bool completion_stream::feed(std::string_view bytes) {
  if (!is_known_) {
    auto first = bytes.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos)
      return true;
    is_known_ = true;
    is_object_ = bytes[first] == '{';
  }
  if (is_object_) {
    object_ += bytes;
    return true;
  }
  auto more = parser_.feed(
    bytes, [this](const net::stream_event& event) { return take(event); });
  if (parser_.too_large())
    nonsense_ = "has an event that is too large";
  return more;
}

void completion_stream::end() {
  if (is_object_)
    take_json(object_);
}

bool completion_stream::take(const net::stream_event& event) {
  return event.data == "[DONE]" || take_json(event.data);
}

bool completion_stream::take_json(std::string_view text) {
  nlohmann::json json;
  try {
    json = net::parse_json(text, {.depth = 32, .elements = 20'000});
  } catch (const net::json_error&) {
    nonsense_ = "is no usable JSON";
    return false;
  }
  if (!member(json, "error").is_null()) {
    error_ = member(json, "error");
    return false;
  }
  if (auto name = text_member(json, "model"); !name.empty())
    model_ = name;
  if (const auto& x = member(json, "usage"); x.is_object())
    used_ = {count_member(x, "prompt_tokens"),
             count_member(x, "completion_tokens"), 0};
  const auto& choices = member(json, "choices");
  if (!choices.is_array() || choices.empty())
    return true;
  const auto& choice = choices.front();
  const auto& news = member(choice, is_object_ ? "message" : "delta");
  auto piece = text_member(news, "content");
  text_ += piece;
  if (on_text_ && !piece.empty())
    on_text_(piece);
  refused_ = refused_ || !text_member(news, "refusal").empty();
  if (auto reason = text_member(choice, "finish_reason"); !reason.empty())
    finish_reason_ = reason;
  return true;
}

} // namespace reeve
