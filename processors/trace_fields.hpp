// processors/trace_fields.hpp -- how a trace goes on to those a job calls.
#pragma once

#include "net/client.hpp"
#include "persistence/trace_context.hpp"

namespace reeve {

/// The fields `traceparent` and `tracestate`, as far as there are any.
inline void add_trace(net::client_request& request, const trace_context& x) {
  if (!x)
    return;
  request.headers.emplace_back("traceparent", x.parent);
  if (!x.state.empty())
    request.headers.emplace_back("tracestate", x.state);
}

} // namespace reeve
