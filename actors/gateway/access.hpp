// actors/gateway/access.hpp -- who may come in: hosts, origins, keys.
#pragma once

#include "actors/gateway/exchange.hpp"

namespace reeve {

/// Checks where a request comes from and whose it is, then goes on with
/// `next`; otherwise answers it: 421 for a foreign Host (DNS rebinding), 403
/// for a foreign Origin that wants to change something (CSRF), 401 without a
/// valid key. Preflights are answered here.
void admit(exchange& x, handler next);

/// Adds what a browser needs to let an allowed origin read the answer.
void add_cors(const exchange& x, net::http_response& response);

/// The host part of a Host field or an authority, without port; in lower case.
std::string host_of(std::string_view authority);

} // namespace reeve
