// processors/ai/local_text.hpp -- texts without a model or a network.
#pragma once

#include "processors/ai/text_model.hpp"

namespace reeve {

/// The offline default. It understands nothing and invents nothing, and its
/// `model` says so: a book is a plain skeleton of a story around the given
/// title and idea, in English; a diary entry or a recall is made of sentences
/// of the given cards. What is asked stands in the first line of
/// `text_request::system`: `task: book`, `task: til` or `task: recall`.
///
/// A book's prompt has the lines `title: …`, `pages: N` (1 to 50) and
/// `idea: …`; the answer is `{"pages": [{"text", "image_prompt"}, …]}`. In the
/// other prompts, each line is `label: text`; those with the label `date` are
/// left out, and a recall takes its sentences from those with `earlier` when
/// there are any.
class local_text final : public text_model {
public:
  lane_key lane() const override;

  /// Ends with a text, `cancelled`, or `failed_permanently` when the request
  /// is none of the above. The same request has the same answer.
  provider_answer<std::string> write(
    const text_request& request,
    const std::function<void(std::string_view piece)>& on_text,
    call_scope scope) override;
};

} // namespace reeve
