// actors/gateway/json.hpp -- the only place where the nouns become JSON.
#pragma once

#include "actors/interfaces.hpp"
#include "net/http.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace reeve {

/// Keeps the order of members, so that people find them.
using ordered_json = nlohmann::ordered_json;

ordered_json to_json(const usage& x);
ordered_json to_json(const job& x);
ordered_json to_json(const attempt& x);
ordered_json to_json(const job_step& x);
ordered_json to_json(const error_group& x);
ordered_json to_json(const usage_row& x);
ordered_json to_json(const type_report& x);
ordered_json to_json(const lane_report& x);
ordered_json to_json(const store_stats& x);

// -- json_actors.cpp ----------------------------------------------------------

ordered_json to_json(const restart_note& x);
ordered_json to_json(const actor_report& x);

// -- json_content.cpp ---------------------------------------------------------

ordered_json to_json(const scrap& x);
ordered_json to_json(const knowledge_card& x);
ordered_json to_json(const daily_summary& x);
ordered_json to_json(const til_entry& x);
ordered_json to_json(const recall_entry& x);
ordered_json to_json(const summary_view& x);
/// For lists: embeddings are large.
ordered_json without_embedding(const knowledge_card& x);
/// Without the embedding.
ordered_json to_json(const card_hit& x);
ordered_json to_json(const content& x);
ordered_json to_json(const account& x);

template <class T>
ordered_json to_json(const std::vector<T>& xs) {
  auto result = ordered_json::array();
  for (const auto& x : xs)
    result.push_back(to_json(x));
  return result;
}

// -- shared -------------------------------------------------------------------

/// 100 percent for what is COMPLETED, whatever was noted last.
ordered_json progress_json(job_status status, int percent,
                           const std::string& message);

/// A strong one: the digest of the bytes.
std::string etag_of(const image_info& x);

/// A JSON response. Ill-formed UTF-8 becomes U+FFFD: this cannot fail.
net::http_response json_response(int status, const ordered_json& body);

std::string dump(const ordered_json& x);

} // namespace reeve
