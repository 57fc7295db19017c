// persistence/json_text.cpp -- text and value, each made from the other once.
#include "persistence/json_text.hpp"

#include <atomic>
#include <mutex>
#include <utility>

namespace reeve {

// Each of the two is written once, under the mutex, before its flag is set.
struct json_text::shared {
  std::mutex mutex;
  std::atomic<bool> has_text{false};
  std::atomic<bool> has_value{false};
  std::string text;
  nlohmann::json value;
};

namespace {

const nlohmann::json null_value;
const std::string null_text = "null";

} // namespace

json_text::json_text(nlohmann::json value) {
  if (value.is_null())
    return;
  what_ = std::make_shared<shared>();
  what_->value = std::move(value);
  what_->has_value = true;
}

json_text json_text::from_text(std::string text) {
  json_text result;
  if (text == null_text)
    return result;
  result.what_ = std::make_shared<shared>();
  result.what_->text = std::move(text);
  result.what_->has_text = true;
  return result;
}

json_text json_text::empty_object() {
  static const json_text result = nlohmann::json::object();
  return result;
}

const nlohmann::json& json_text::value() const {
  if (!what_)
    return null_value;
  if (what_->has_value)
    return what_->value;
  std::lock_guard guard{what_->mutex};
  if (!what_->has_value) {
    auto parsed = nlohmann::json::parse(what_->text, nullptr, false);
    if (!parsed.is_discarded())
      what_->value = std::move(parsed);
    what_->has_value = true;
  }
  return what_->value;
}

const std::string& json_text::text() const {
  if (!what_)
    return null_text;
  if (what_->has_text)
    return what_->text;
  std::lock_guard guard{what_->mutex};
  if (!what_->has_text) {
    what_->text = what_->value.dump();
    what_->has_text = true;
  }
  return what_->text;
}

size_t json_text::bytes() const {
  // A value that came parsed is asked for its text when it is stored, which is
  // before anyone needs to know its size.
  return what_ ? sizeof(shared) + text().size() : 0;
}

} // namespace reeve
