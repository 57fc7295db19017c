// config/options.cpp -- where settings come from: defaults, file, environment,
// command line.
#include "config/options.hpp"

#include "config/duration.hpp"

#include <caf/config_value.hpp>
#include <caf/settings.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <regex>
#include <sstream>

namespace reeve {

namespace {

constexpr std::string_view variable_prefix = "REEVE_";
constexpr std::string_view types_prefix = "types.";

/// The last key of every file, to see that its groups were closed.
constexpr const char* end_marker = "end-of-file";

/// Read by scripts and clients, never by the node.
constexpr std::string_view foreign_variables[] = {
  "REEVE_PREFIX", "REEVE_URL", "REEVE_API_KEY", "REEVE_CONFIG_FILE"};

/// Options whose values never leave the process.
bool is_secret(std::string_view key) {
  return key.ends_with("api-key") || key.ends_with("secret");
}

std::string variable_name(std::string_view key) {
  std::string result{variable_prefix};
  for (unsigned char c : key)
    result += std::isalnum(c) ? static_cast<char>(std::toupper(c)) : '_';
  return result;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      auto replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// The parser takes nothing at all for a missing value.
std::string argument_for(const std::string& key, const std::string& value) {
  return "--" + key + '=' + (value.empty() ? "\"\"" : value);
}

void flatten(const caf::settings& xs, const std::string& prefix,
             std::map<std::string, caf::config_value>& out) {
  for (const auto& [key, value] : xs) {
    auto full = prefix.empty() ? key : prefix + '.' + key;
    if (const auto* nested = caf::get_if<caf::settings>(&value))
      flatten(*nested, full, out);
    else
      out.insert_or_assign(full, value);
  }
}

// CAF's file parser drops `http.port = 80` without a word and knows only
// `http { port = 80 }`, so the one is rewritten to the other.
std::string with_groups(std::istream& in) {
  static const std::regex dotted{R"(^\s*([\w-]+(?:\.[\w-]+)+)\s*=(.*)$)"};
  std::string result;
  std::smatch parts;
  for (std::string line; std::getline(in, line); result += '\n') {
    if (!std::regex_match(line, parts, dotted)) {
      result += line;
      continue;
    }
    std::string key = parts[1];
    auto depth = std::count(key.begin(), key.end(), '.');
    for (size_t i; (i = key.find('.')) != std::string::npos;)
      key.replace(i, 1, " { ");
    result += key + " =" + parts[2].str() + '\n';
    for (auto i = depth; i > 0; --i)
      result += '}';
  }
  return result;
}

// `--key=value` → `key`.
std::vector<std::string> keys_of(const std::vector<std::string>& arguments) {
  std::vector<std::string> result;
  for (const auto& argument : arguments)
    if (argument.starts_with("--"))
      result.push_back(argument.substr(2, argument.find('=') - 2));
  return result;
}

// The user part of a URL may hold a password.
std::string without_password(std::string url) {
  auto scheme = url.find("://");
  if (scheme == std::string::npos)
    return url;
  // The last @ before the path: one that nobody escaped is part of the secret.
  auto at = url.substr(0, url.find('?')).rfind('@');
  auto colon = url.find(':', scheme + 3);
  if (at != std::string::npos && colon < at)
    url.replace(colon + 1, at - colon - 1, "***");
  if (auto query = url.find("password="); query != std::string::npos) {
    auto end = std::min(url.find('&', query), url.size());
    url.replace(query, end - query, "password=***");
  }
  return url;
}

} // namespace

void options::load(const std::vector<std::string>& arguments,
                   const std::vector<std::string>& environment) {
  std::string path;
  for (const auto& entry : environment)
    if (entry.starts_with("REEVE_CONFIG_FILE="))
      path = entry.substr(entry.find('=') + 1);
  add_types_of(keys_of(arguments));
  check_arguments(arguments);
  for (const auto& argument : arguments)
    if (argument.starts_with("--config-file="))
      path = argument.substr(argument.find('=') + 1);
  // Later ones win: the file, the environment, the command line.
  auto all = file_arguments(path);
  auto from_environment = environment_arguments(environment);
  all.insert(all.end(), from_environment.begin(), from_environment.end());
  for (const auto& argument : arguments)
    if (!argument.starts_with("--config-file="))
      all.push_back(argument.ends_with('=') ? argument + "\"\"" : argument);
  std::stringstream nothing;
  if (auto err = parse(all, nothing))
    throw bad_option(to_string(err));
  // CAF takes the quotes of an empty text for the text.
  for (auto* text : texts_)
    if (*text == "\"\"")
      text->clear();
  validate(*this);
}

std::vector<std::string> options::file_arguments(const std::string& path) {
  std::vector<std::string> result;
  if (path.empty())
    return result;
  std::ifstream in{path};
  if (!in || std::filesystem::is_directory(path))
    throw bad_option("cannot read the configuration file '" + path + "'");
  std::stringstream text{with_groups(in) + end_marker + " = 1\n"};
  auto parsed = parse_config(text);
  if (!parsed)
    throw bad_option(path + ": " + to_string(parsed.error())
                     + " (write one key = value a line; durations carry a "
                       "unit like 30s, texts stand in double quotes)");
  // CAF drops a group that the file does not close, and all that is in it.
  if (!parsed->contains(end_marker))
    throw bad_option(path + ": a group is not closed with '}'");
  std::map<std::string, caf::config_value> entries;
  flatten(*parsed, "", entries);
  entries.erase(end_marker);
  std::vector<std::string> keys;
  for (const auto& [key, value] : entries)
    keys.push_back(key);
  add_types_of(keys);
  for (const auto& [key, value] : entries) {
    const auto* span = caf::get_if<caf::timespan>(&value);
    auto spelled = span != nullptr ? rendered(*span) : to_string(value);
    check_key(key, path);
    check_value(key, spelled, path + ": " + key);
    result.push_back(argument_for(key, spelled));
  }
  return result;
}

void options::add_types_of(const std::vector<std::string>& keys) {
  for (const auto& key : keys) {
    if (!key.starts_with(types_prefix))
      continue;
    auto name =
      key.substr(types_prefix.size(), key.rfind('.') - types_prefix.size());
    if (key.rfind('.') >= types_prefix.size() && !types_.contains(name))
      add_type(name);
  }
}

void options::check_arguments(const std::vector<std::string>& arguments) {
  for (const auto& argument : arguments) {
    if (!argument.starts_with("--"))
      throw bad_option("unexpected argument '" + argument
                       + "'; options look like --http.port=8080");
    auto split = argument.find('=');
    auto key = argument.substr(2, split - 2);
    if (key == "config-file" && split != std::string::npos)
      continue;
    check_key(key, "command line");
    if (split == std::string::npos)
      throw bad_option("--" + key + " needs a value: --" + key + "=VALUE ("
                       + descriptions_.at(key) + ")");
    check_value(key, argument.substr(split + 1), "--" + key);
  }
}

void options::check_value(const std::string& key, const std::string& value,
                          const std::string& where) const {
  if (!descriptions_.contains(key))
    return;
  caf::settings scratch;
  std::vector<std::string> argument{argument_for(key, value)};
  auto [code, position] = custom_options_.parse(scratch, argument);
  if (code != caf::pec::success)
    throw bad_option(
      where + ": "
      + (is_secret(key) ? std::string{"the value"} : '\'' + value + '\'')
      + " is not valid here (" + descriptions_.at(key) + ")");
}

void options::check_key(const std::string& key,
                        const std::string& where) const {
  if (descriptions_.contains(key) || key.starts_with("caf."))
    return;
  throw bad_option(where + ": there is no option '" + key + "'; did you mean '"
                   + nearest(key) + "'?");
}

std::string options::nearest(const std::string& key) const {
  auto closer = [&](const auto& a, const auto& b) {
    return edit_distance(key, a.first) < edit_distance(key, b.first);
  };
  return std::min_element(descriptions_.begin(), descriptions_.end(), closer)
    ->first;
}

std::map<std::string, std::string> options::environment_names() const {
  std::map<std::string, std::string> result;
  for (const auto& [key, help] : descriptions_)
    result.emplace(variable_name(key), key);
  return result;
}

std::vector<std::string> options::environment_arguments(
  const std::vector<std::string>& environment) {
  std::vector<std::string> result;
  auto names = environment_names();
  for (const auto& entry : environment) {
    auto name = entry.substr(0, entry.find('='));
    if (!name.starts_with(variable_prefix)
        || std::find(std::begin(foreign_variables), std::end(foreign_variables),
                     name)
          != std::end(foreign_variables))
      continue;
    auto value = entry.substr(std::min(entry.size(), name.size() + 1));
    if (auto i = names.find(name); i != names.end()) {
      check_value(i->second, value, name);
      result.push_back(argument_for(i->second, value));
    } else {
      auto key = name.substr(variable_prefix.size());
      std::transform(key.begin(), key.end(), key.begin(), [](unsigned char c) {
        return c == '_' ? '.' : static_cast<char>(std::tolower(c));
      });
      warnings_.push_back(name + " names no option; did you mean "
                          + variable_name(nearest(key)) + "?");
    }
  }
  return result;
}

std::string options::print() const {
  std::string result;
  for (const auto& [key, help] : descriptions_) {
    auto text = printers_.at(key)();
    if (is_secret(key) && text != "\"\"")
      text = "\"***\"";
    else if (key.ends_with("url"))
      text = '"' + without_password(text.substr(1, text.size() - 2)) + '"';
    result += "# " + help + '\n' + key + " = " + text + '\n';
  }
  return result;
}

type_options options::type(const std::string& name) const {
  auto i = types_.find(name);
  return i != types_.end() ? i->second : type_options{};
}

} // namespace reeve
