// processors/ai/local_text.cpp -- texts without a model or a network.
#include "processors/ai/local_text.hpp"

#include "net/json.hpp"
#include "net/text.hpp"
#include "persistence/text.hpp"
#include "processors/text/document.hpp"
#include "processors/text/extract.hpp"
#include "processors/text/plain_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace reeve {

namespace {

constexpr auto book_model = "local-skeleton-1";
constexpr auto extract_model = "local-extractive-1";

constexpr size_t max_pages = 50;

// Sentences of cards are looked at up to here.
constexpr size_t max_source_bytes = 256 * 1024;
constexpr size_t max_line_bytes = 16 * 1024;
constexpr text::summary_limits entry_limits{.sentences = 5,
                                            .code_points = 1'500};

constexpr size_t max_title_code_points = 120;
constexpr size_t max_idea_code_points = 300;

using text_listener = std::function<void(std::string_view)>;

provider_failure refused(std::string message) {
  return {
    run_outcome::failed_permanently, std::move(message), {}, lane_effect::none};
}

// The texts behind `label: ` at the starts of lines.
std::vector<std::string_view> lines_with(std::string_view prompt,
                                         std::string_view label) {
  std::vector<std::string_view> result;
  while (!prompt.empty()) {
    auto end = std::min(prompt.find('\n'), prompt.size());
    auto line = prompt.substr(0, end);
    prompt.remove_prefix(std::min(end + 1, prompt.size()));
    if (line.starts_with(label) && line.substr(label.size()).starts_with(':'))
      result.push_back(net::trim(line.substr(label.size() + 1)));
  }
  return result;
}

// -- books --------------------------------------------------------------------

// What happens in the middle of every story, and how it looks.
struct scene {
  std::string_view text;
  std::string_view picture;
};

constexpr scene first_scene = {
  "This is how \"{title}\" begins. It is a story about this: {idea}",
  "The opening of the story, a wide view of the place."};

constexpr std::array middle_scenes = {
  scene{"One morning there is a wish that does not go away. Somebody has to "
        "set out.",
        "Somebody looks out of a window into the morning."},
  scene{"The way leads over a hill and along a river. Everything is new, and "
        "everything has a name.",
        "A small figure on a path over a hill and along a river."},
  scene{"Then the way ends. Nobody has said that it would be easy.",
        "A path that ends at a high wall or a deep wood."},
  scene{"A friend comes by and knows a little more. Two see more than one.",
        "Two friends meet under a tree."},
  scene{"They try it once, and it goes wrong. They laugh, and try it another "
        "way.",
        "Two friends in the middle of a merry muddle."},
  scene{"Night falls, and it is very quiet. Now they need patience.",
        "A night sky with stars over a small camp."},
  scene{"With the first light they find what they were looking for. It was "
        "nearer than they had thought.",
        "A sunrise over something found."},
};

constexpr scene last_scene = {
  "So they go home together, and tell everybody. That was \"{title}\".",
  "A house in the evening with a light in its window."};

std::string filled(std::string_view pattern, const std::string& title,
                   const std::string& idea) {
  std::string result{pattern};
  for (const auto& [name, value] :
       {std::pair{std::string_view{"{title}"}, &title}, {"{idea}", &idea}})
    if (auto i = result.find(name); i != std::string::npos)
      result.replace(i, name.size(), *value);
  return result;
}

// The scenes of `count` pages: first and last, and between them as many of the
// middle ones in their order as there is room for, some of them twice when
// there is more.
const scene& scene_of(size_t page, size_t count) {
  if (page == 0)
    return first_scene;
  if (page + 1 == count)
    return last_scene;
  auto room = count - 2;
  auto index = (page - 1) * middle_scenes.size() / room;
  return middle_scenes[std::min(index, middle_scenes.size() - 1)];
}

std::variant<std::string, provider_failure> book(std::string_view prompt,
                                                 const text_listener& on_text,
                                                 const std::stop_token& stop) {
  auto only = [prompt](std::string_view label, size_t limit) {
    auto lines = lines_with(prompt, label);
    return lines.empty()
      ? std::string{}
      : truncated(text::one_line(sanitized(lines.front())), limit);
  };
  auto title = only("title", max_title_code_points);
  auto idea = only("idea", max_idea_code_points);
  auto number = only("pages", 10);
  size_t pages = 0;
  std::from_chars(number.data(), number.data() + number.size(), pages);
  if (text::is_blank(title) || text::is_blank(idea) || !net::is_digits(number)
      || pages < 1 || pages > max_pages)
    return refused("A book without a model needs a title, an idea and 1 to "
                   + std::to_string(max_pages) + " pages");
  std::string result;
  // Page by page, so that who listens sees it grow.
  auto say = [&](const std::string& piece) {
    result += piece;
    if (on_text)
      on_text(piece);
  };
  say("{\"pages\":[");
  for (size_t i = 0; i < pages; ++i) {
    if (stop.stop_requested())
      return provider_failure{run_outcome::cancelled,
                              "The writing was stopped",
                              {},
                              lane_effect::none};
    const auto& x = scene_of(i, pages);
    auto text = filled(x.text, title, idea);
    if (pages == 1)
      text += " " + filled(last_scene.text, title, idea);
    nlohmann::json page{{"text", std::move(text)},
                        {"image_prompt",
                         std::string{x.picture} + " Page "
                           + std::to_string(i + 1) + " of " + title + ": "
                           + idea}};
    say((i == 0 ? "" : ",") + net::dump_json(page));
  }
  say("]}");
  return result;
}

// -- entries ------------------------------------------------------------------

// A card's line without its tags, which are no sentences.
std::string_view without_tags(std::string_view line) {
  auto tags = line.rfind(" [tags:");
  return line.ends_with(']') ? line.substr(0, tags) : line;
}

// Without the date in front, e.g. `2026-01-31: `.
std::string_view without_date(std::string_view line) {
  constexpr size_t date_size = 10;
  auto is_date = line.size() > date_size && line[4] == '-' && line[7] == '-'
    && line[date_size] == ':' && net::is_digits(line.substr(0, 4));
  return is_date ? net::trim(line.substr(date_size + 1)) : line;
}

// All lines but the dates, each without its label.
std::vector<std::string_view> all_lines(std::string_view prompt) {
  constexpr size_t longest_label = 20;
  std::vector<std::string_view> result;
  while (!prompt.empty()) {
    auto end = std::min(prompt.find('\n'), prompt.size());
    auto line = prompt.substr(0, end);
    prompt.remove_prefix(std::min(end + 1, prompt.size()));
    auto colon = line.find(": ");
    auto is_label =
      colon <= longest_label && net::is_token(line.substr(0, colon));
    if (is_label && line.substr(0, colon) == "date")
      continue;
    result.push_back(is_label ? net::trim(line.substr(colon + 2)) : line);
  }
  return result;
}

// Empty when there are more of them than an entry may have.
std::string all_sentences(const text::document& document) {
  std::string result;
  if (document.sentences().size() > entry_limits.sentences)
    return result;
  for (const auto& x : document.sentences())
    result.append(result.empty() ? "" : " ").append(x.text);
  return text::code_points(result) <= entry_limits.code_points ? result
                                                               : std::string{};
}

std::variant<std::string, provider_failure> entry(
  const std::vector<std::string_view>& lines, const std::stop_token& stop) {
  std::string source;
  for (auto line : lines) {
    auto part = text::prefix(without_tags(without_date(line)), max_line_bytes);
    if (source.size() + part.size() > max_source_bytes)
      break;
    source.append(part).append("\n\n");
  }
  source = sanitized(source);
  if (text::is_blank(source))
    return refused("There is nothing to write about: the cards have no visible "
                   "character");
  text::document document{{}, source, stop};
  // A summary would leave cards out of which there are few.
  auto result = all_sentences(document);
  if (result.empty())
    result = text::summarize(document, entry_limits);
  if (stop.stop_requested())
    return provider_failure{
      run_outcome::cancelled, "The writing was stopped", {}, lane_effect::none};
  if (text::is_blank(result))
    return refused("There is nothing to write about: the cards have no "
                   "sentence");
  return result;
}

} // namespace

lane_key local_text::lane() const {
  return {"local", "text"};
}

provider_answer<std::string> local_text::write(const text_request& request,
                                               const text_listener& on_text,
                                               call_scope scope) {
  const auto& stop = scope.stop;
  std::string_view system{request.system};
  auto task = net::trim(system.substr(0, system.find('\n')));
  provider_answer<std::string> result;
  if (task == "task: book") {
    result.model = book_model;
    result.result = book(request.prompt, on_text, stop);
    return result;
  }
  result.model = extract_model;
  if (task == "task: til") {
    result.result = entry(all_lines(request.prompt), stop);
  } else if (task == "task: recall") {
    auto earlier = lines_with(request.prompt, "earlier");
    result.result =
      entry(earlier.empty() ? all_lines(request.prompt) : earlier, stop);
  } else {
    result.result = refused("Without a model only books, diary entries and "
                            "recalls can be written");
  }
  if (auto* text = std::get_if<std::string>(&result.result); text && on_text)
    on_text(*text);
  return result;
}

} // namespace reeve
