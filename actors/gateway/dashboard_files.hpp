// actors/gateway/dashboard_files.hpp -- the dashboard's files, as the build
// embedded them (cmake/dashboard.cmake).
#pragma once

#include <span>
#include <string_view>

namespace reeve {

/// A file in the forms it can be sent in.
struct dashboard_file {
  /// `index.html`, or below `assets/` with a digest of the content in it.
  std::string_view name;
  std::string_view content_type;
  /// SHA-256 of the plain bytes in hexadecimal digits.
  std::string_view digest;
  std::string_view plain;
  /// Empty where it saves nothing.
  std::string_view gzip;
  std::string_view brotli;
};

/// Empty when the dashboard was not built.
std::span<const dashboard_file> dashboard_files();

} // namespace reeve
