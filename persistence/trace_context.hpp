// persistence/trace_context.hpp -- whose trace a job belongs to (W3C Trace
// Context, levels 1 and 2).
#pragma once

#include <string>
#include <string_view>

namespace reeve {

/// A place in a distributed trace, as it travels in the header fields
/// `traceparent` and `tracestate`. Most jobs have none.
struct trace_context {
  /// `00-TRACE_ID-PARENT_ID-FLAGS`; empty: no trace.
  std::string parent;
  /// What tracing systems add for themselves; at most 512 bytes, may be empty.
  std::string state;

  explicit operator bool() const noexcept {
    return !parent.empty();
  }

  /// 32 hexadecimal digits; empty without a trace.
  std::string_view id() const;

  bool operator==(const trace_context&) const = default;
};

/// Reads the two fields as they came. An invalid `traceparent` is no trace, an
/// invalid `tracestate` is none: neither is an error of its sender. Whatever a
/// later version than 00 adds is dropped, as are its flags that we do not know.
trace_context read_trace(std::string_view traceparent,
                         std::string_view tracestate);

/// The same trace with a new parent id: the span of who calls on.
trace_context child_of(const trace_context& x);

} // namespace reeve
