// processors/page_drawing.cpp -- one page's picture, drawn and kept as a step.
#include "processors/page_drawing.hpp"

#include "persistence/digest.hpp"
#include "persistence/text.hpp"
#include "processors/model_calls.hpp"
#include "processors/text/plain_text.hpp"

namespace reeve {

namespace {

image_request request_of(const page_drawing& what) {
  auto one_line = [](const std::string& x) {
    return text::one_line(sanitized(x));
  };
  image_request result;
  result.prompt = one_line(what.prompt) + "\nIllustration for page "
    + std::to_string(what.number) + " of " + std::to_string(what.pages)
    + " of the picture book \"" + one_line(what.title)
    + "\" for children. No words or letters in the picture.";
  return result;
}

step_result draw(job_context& context, image_model& model,
                 const page_drawing& what) {
  auto request = request_of(what);
  auto lane = model.lane();
  auto answer =
    call_provider<image>(context, lane, estimated_tokens(request.prompt.size()),
                         [&] { return model.draw(request, context.scope()); });
  auto& drawn = std::get<image>(answer.result);
  page_image kept;
  kept.content_id = what.content_id;
  kept.number = what.number;
  kept.info.content_type = drawn.content_type;
  kept.info.bytes = drawn.bytes.size();
  kept.info.digest = sha256_hex(drawn.bytes);
  // The bytes are an effect: a step's result is read again with every run.
  auto result = paid_step(lane, answer,
                          {{"content_type", kept.info.content_type},
                           {"bytes", kept.info.bytes},
                           {"digest", kept.info.digest}});
  kept.info.model = result.model;
  kept.data = std::make_shared<const std::string>(std::move(drawn.bytes));
  result.effects.emplace_back(std::move(kept));
  return result;
}

} // namespace

nlohmann::json draw_page(job_context& context, image_model& model,
                         const page_drawing& what) {
  // Not the words around the prompt: another wording of ours is no reason to
  // pay again.
  return context.step("image-" + std::to_string(what.number),
                      {{"content_id", what.content_id},
                       {"page", what.number},
                       {"prompt", what.prompt}},
                      [&] { return draw(context, model, what); });
}

} // namespace reeve
