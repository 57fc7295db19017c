// actors/gateway/dashboard.hpp -- the dashboard's page and what it is made of.
#pragma once

#include "actors/gateway/exchange.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace reeve {

/// True for `/`, for every view's address, and for `/assets/…`.
bool is_dashboard_path(const std::vector<std::string>& segments);

/// Answers with a file: the page for every view. There are no secrets in them.
void get_dashboard(exchange& x);

/// Does an Accept-Encoding field (RFC 9110, section 12.5.3) name this coding,
/// and not with a weight of 0?
bool accepts_coding(std::string_view field, std::string_view coding);

} // namespace reeve
