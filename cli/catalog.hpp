// cli/catalog.hpp -- which job types and providers a node has, by its settings.
#pragma once

#include "config/options.hpp"
#include "processors/ai/analysis_model.hpp"
#include "processors/ai/image_model.hpp"
#include "processors/ai/text_model.hpp"
#include "processors/registry.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace reeve {

/// Who does the AI's part.
struct models {
  std::shared_ptr<analysis_model> analysis;
  std::shared_ptr<text_model> text;
  std::shared_ptr<image_model> image;
};

models make_models(const options& config);

/// One processor for each job type. Throws `bad_option` for a type of the
/// settings that cannot be run, e.g. since its program is not there.
std::shared_ptr<processor_registry> make_processors(const options& config,
                                                    const models& with);

/// How many calls may be under way at once in each lane.
std::map<std::string, uint32_t> lane_limits(const options& config,
                                            const models& of);

} // namespace reeve
