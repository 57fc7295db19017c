// actors/gateway/event_texts.cpp -- a short memory of texts, newest last.
#include "actors/gateway/event_texts.hpp"

#include "actors/gateway/job_json.hpp"

#include <algorithm>

namespace reeve {

event_texts::text_ptr event_texts::of(const job_ptr& what) {
  auto found =
    std::find_if(entries_.rbegin(), entries_.rend(),
                 [&](const entry& x) { return x.what.lock() == what; });
  if (found != entries_.rend())
    return found->text;
  auto text = std::make_shared<const std::string>(json_of(*what));
  ++written_;
  bytes_ += text->size();
  entries_.push_back({what, text});
  while (entries_.size() > 1
         && (entries_.size() > max_texts || bytes_ > max_bytes))
    drop_oldest();
  return text;
}

void event_texts::drop_oldest() {
  bytes_ -= entries_.front().text->size();
  entries_.pop_front();
}

} // namespace reeve
