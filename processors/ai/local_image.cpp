// processors/ai/local_image.cpp -- pictures without a model or a network.
#include "processors/ai/local_image.hpp"

#include "persistence/text.hpp"
#include "processors/text/plain_text.hpp"

#include <algorithm>
#include <cstdint>

namespace reeve {

namespace {

constexpr auto model = "local-shapes-1";
constexpr int width = 1'024;
constexpr int height = 768;
constexpr size_t max_title_code_points = 120;

// FNV-1a, and SplitMix64 from there: the same on every machine, which the
// standard library's distributions are not.
class dice {
public:
  explicit dice(std::string_view seed) {
    for (unsigned char c : seed)
      state_ = (state_ ^ c) * 0x100000001b3u;
  }

  /// From `low` to `high`, both included.
  int roll(int low, int high) {
    state_ += 0x9e3779b97f4a7c15u;
    auto x = state_;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
    return low + static_cast<int>(x % static_cast<uint64_t>(high - low + 1));
  }

private:
  uint64_t state_ = 0xcbf29ce484222325u;
};

std::string escaped(std::string_view text) {
  std::string result;
  for (auto c : text)
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&apos;";
        break;
      default:
        result += c;
    }
  return result;
}

// U+FFFE and U+FFFF are no characters of XML; control characters are gone by
// now.
std::string for_xml(std::string text) {
  for (std::string_view bad : {"\xEF\xBF\xBE", "\xEF\xBF\xBF"})
    for (size_t i; (i = text.find(bad)) != std::string::npos;)
      text.replace(i, bad.size(), "\xEF\xBF\xBD");
  return escaped(text);
}

std::string number(int x) {
  return std::to_string(x);
}

std::string colour(int hue, int saturation, int lightness) {
  return "hsl(" + number(hue % 360) + "," + number(saturation) + "%,"
    + number(lightness) + "%)";
}

std::string circle(int x, int y, int r, const std::string& fill) {
  return "<circle cx=\"" + number(x) + "\" cy=\"" + number(y) + "\" r=\""
    + number(r) + "\" fill=\"" + fill + "\"/>\n";
}

std::string hill(dice& d, int top, const std::string& fill) {
  auto y = [&d, top] { return number(top + d.roll(-60, 60)); };
  auto third = width / 3;
  return "<path d=\"M0 " + y() + " C" + number(third) + " " + y() + " "
    + number(2 * third) + " " + y() + " " + number(width) + " " + y() + " V"
    + number(height) + " H0 Z\" fill=\"" + fill + "\"/>\n";
}

std::string tree(dice& d, int ground) {
  auto x = d.roll(60, width - 60);
  auto y = ground + d.roll(0, 120);
  auto size = d.roll(30, 70);
  auto hue = d.roll(80, 150);
  return "<rect x=\"" + number(x - 6) + "\" y=\"" + number(y - size)
    + "\" width=\"12\" height=\"" + number(size) + "\" fill=\""
    + colour(25, 40, 30) + "\"/>\n"
    + circle(x, y - size - size / 2, size, colour(hue, 45, 38));
}

std::string page(const std::string& prompt) {
  dice d{prompt};
  auto hue = d.roll(0, 359);
  auto is_night = d.roll(0, 3) == 0;
  std::string result =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width)
    + " " + number(height) + "\" width=\"" + number(width) + "\" height=\""
    + number(height) + "\" role=\"img\">\n<title>"
    + for_xml(truncated(text::one_line(prompt), max_title_code_points))
    + "</title>\n<rect width=\"100%\" height=\"100%\" fill=\""
    + (is_night ? colour(230 + d.roll(0, 40), 50, 18) : colour(hue, 60, 82))
    + "\"/>\n";
  if (is_night)
    for (int i = d.roll(20, 40); i > 0; --i)
      result += circle(d.roll(0, width), d.roll(0, height / 2), d.roll(1, 3),
                       colour(50, 80, 90));
  result += circle(d.roll(100, width - 100), d.roll(80, 220), d.roll(40, 80),
                   is_night ? colour(55, 30, 88) : colour(45, 95, 62));
  constexpr int layers = 3;
  for (int i = 0; i < layers; ++i)
    result += hill(
      d, 380 + 110 * i,
      colour(hue + 60 + 20 * d.roll(0, 3), 40, (is_night ? 34 : 62) - 9 * i));
  for (int i = d.roll(2, 7); i > 0; --i)
    result += tree(d, 600);
  return result + "</svg>\n";
}

} // namespace

lane_key local_image::lane() const {
  return {"local", "image"};
}

provider_answer<image> local_image::draw(const image_request& request,
                                         call_scope scope) {
  provider_answer<image> result;
  result.model = model;
  auto prompt = sanitized(request.prompt);
  if (scope.stop.stop_requested())
    result.result = provider_failure{
      run_outcome::cancelled, "The drawing was stopped", {}, lane_effect::none};
  else if (text::is_blank(prompt))
    result.result = provider_failure{run_outcome::failed_permanently,
                                     "There is nothing to draw: the prompt has "
                                     "no visible character",
                                     {},
                                     lane_effect::none};
  else
    result.result = image{"image/svg+xml", page(prompt)};
  return result;
}

} // namespace reeve
