// cli/catalog.cpp -- which job types and providers a node has, by its settings.
#include "cli/catalog.hpp"

#include "config/duration.hpp"
#include "processors/ai/analysis_server.hpp"
#include "processors/ai/anthropic.hpp"
#include "processors/ai/gemini.hpp"
#include "processors/ai/local_analysis.hpp"
#include "processors/ai/local_image.hpp"
#include "processors/ai/local_text.hpp"
#include "processors/ai/openai_compatible.hpp"
#include "processors/book_generation.hpp"
#include "processors/card_analysis.hpp"
#include "processors/command.hpp"
#include "processors/image_regen.hpp"
#include "processors/recall_generation.hpp"
#include "processors/til_generation.hpp"
#include "processors/webhook.hpp"

#include <stdexcept>
#include <utility>

namespace reeve {

namespace {

std::shared_ptr<analysis_model> make_analysis(const analysis_options& x) {
  if (x.provider == "local")
    return std::make_shared<local_analysis>();
  analysis_server_options result;
  result.url = x.url;
  result.api_key = x.api_key;
  result.connect_timeout = in_ms(x.connect_timeout);
  result.total_timeout = in_ms(x.timeout);
  result.max_response_bytes = x.max_response_bytes;
  return std::make_shared<analysis_server>(std::move(result));
}

// What is not set stays as the provider's own options have it.
template <class Options, class Settings>
Options remote(const Settings& x) {
  Options result;
  if (!x.url.empty())
    result.url = x.url;
  if (!x.model.empty())
    result.model = x.model;
  result.api_key = x.api_key;
  result.connect_timeout = in_ms(x.connect_timeout);
  result.total_timeout = in_ms(x.timeout);
  return result;
}

std::shared_ptr<text_model> make_text(const text_options& x) {
  if (x.provider == "local")
    return std::make_shared<local_text>();
  auto fill = [&x](auto result) {
    result.max_tokens = x.max_tokens;
    result.idle_timeout = in_ms(x.idle_timeout);
    return result;
  };
  if (x.provider == "anthropic")
    return std::make_shared<anthropic>(fill(remote<anthropic_options>(x)));
  return std::make_shared<openai_compatible>(
    fill(remote<openai_compatible_options>(x)));
}

std::shared_ptr<image_model> make_image(const image_options& x) {
  if (x.provider == "local")
    return std::make_shared<local_image>();
  auto result = remote<gemini_options>(x);
  // A picture comes at once, after all of it was drawn.
  result.idle_timeout = result.total_timeout;
  result.max_response_bytes = x.max_response_bytes;
  return std::make_shared<gemini>(std::move(result));
}

std::shared_ptr<processor> make_configured(const type_options& x) {
  if (x.processor == "webhook") {
    webhook_options result;
    result.url = x.url;
    result.secret = x.secret;
    result.timeout = in_ms(x.timeout);
    result.max_response_bytes = x.max_output_bytes;
    result.allow_private = x.addresses == "any";
    return std::make_shared<webhook>(std::move(result));
  }
  command_options result;
  result.argv = x.command;
  result.max_output_bytes = x.max_output_bytes;
  return std::make_shared<command>(std::move(result));
}

} // namespace

models make_models(const options& config) {
  return {make_analysis(config.analysis), make_text(config.text),
          make_image(config.image)};
}

std::shared_ptr<processor_registry> make_processors(const options& config,
                                                    const models& with) {
  auto result = std::make_shared<processor_registry>();
  result->add("CARD_ANALYSIS", std::make_shared<card_analysis>(with.analysis));
  result->add("TIL_GENERATION", std::make_shared<til_generation>(with.text));
  result->add("RECALL_GENERATION",
              std::make_shared<recall_generation>(with.text));
  result->add("BOOK_GENERATION",
              std::make_shared<book_generation>(with.text, with.image));
  result->add("IMAGE_REGEN", std::make_shared<image_regen>(with.image));
  for (const auto& [name, type] : config.types()) {
    if (type.processor.empty())
      continue;
    try {
      result->add(name, make_configured(type));
    } catch (const std::invalid_argument& err) {
      throw bad_option("types." + name + ": " + err.what());
    }
  }
  return result;
}

std::map<std::string, uint32_t> lane_limits(const options& config,
                                            const models& of) {
  std::map<std::string, uint32_t> result{
    {of.analysis->lane().name(), config.analysis.concurrency},
    {of.text->lane().name(), config.text.concurrency},
    {of.image->lane().name(), config.image.concurrency}};
  // What calls nobody needs no lane.
  result.erase("");
  return result;
}

} // namespace reeve
