// actors/gateway/json.hpp -- the only place where the nouns become JSON.
#pragma once

#include "actors/interfaces.hpp"
#include "net/http.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace reeve {

/// Keeps the order of members, so that people find them.
using ordered_json = nlohmann::ordered_json;

ordered_json to_json(const job& x);
ordered_json to_json(const attempt& x);
ordered_json to_json(const scrap& x);
ordered_json to_json(const knowledge_card& x);
ordered_json to_json(const store_stats& x);
ordered_json to_json(const actor_report& x);

/// A JSON response. Ill-formed UTF-8 becomes U+FFFD: this cannot fail.
net::http_response json_response(int status, const ordered_json& body);

std::string dump(const ordered_json& x);

} // namespace reeve
