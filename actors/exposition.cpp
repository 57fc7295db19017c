// actors/exposition.cpp -- escapes, numbers, and what a registry has.
#include "actors/exposition.hpp"

#include <caf/telemetry/counter.hpp>
#include <caf/telemetry/gauge.hpp>
#include <caf/telemetry/histogram.hpp>
#include <caf/telemetry/metric.hpp>
#include <caf/telemetry/metric_family.hpp>
#include <caf/telemetry/metric_registry.hpp>

#include <array>
#include <charconv>
#include <cmath>

namespace reeve {

namespace {

namespace telemetry = caf::telemetry;

std::string_view view(caf::string_view x) {
  return {x.data(), x.size()};
}

std::string number(double x) {
  if (std::isnan(x))
    return "NaN";
  if (std::isinf(x))
    return x > 0 ? "+Inf" : "-Inf";
  std::array<char, 64> buffer;
  const auto end = std::to_chars(buffer.begin(), buffer.end(), x).ptr;
  return {buffer.begin(), end};
}

void append_escaped(std::string& out, std::string_view text, bool quotes) {
  for (char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (c == '"' && quotes)
      out += "\\\"";
    else
      out += c;
  }
}

// `PREFIX_NAME[_UNIT][_total]`
std::string name_of(const telemetry::metric_family& x) {
  auto result = x.prefix() + '_' + x.name();
  if (x.unit() != "1")
    result += '_' + x.unit();
  if (x.is_sum())
    result += "_total";
  for (auto& c : result)
    if (c == '.' || c == '-')
      c = '_';
  return result;
}

} // namespace

// What a registry calls for each of its metrics, a family after the other.
class exposition::collector {
public:
  explicit collector(exposition& out) : out_(out) {
    // nop
  }

  template <class T>
  void operator()(const telemetry::metric_family* family,
                  const telemetry::metric* instance,
                  const telemetry::counter<T>* x) {
    if (begin(*family, "counter"))
      write("", *instance, x->value());
  }

  void operator()(const telemetry::metric_family* family,
                  const telemetry::metric* instance,
                  const telemetry::int_gauge* x) {
    if (begin(*family, "gauge"))
      write("", *instance, x->value());
  }

  void operator()(const telemetry::metric_family* family,
                  const telemetry::metric* instance,
                  const telemetry::dbl_gauge* x) {
    if (begin(*family, "gauge"))
      write("", *instance, x->value());
  }

  template <class T>
  void operator()(const telemetry::metric_family* family,
                  const telemetry::metric* instance,
                  const telemetry::histogram<T>* x) {
    if (!begin(*family, "histogram"))
      return;
    int64_t below = 0;
    for (const auto& bucket : x->buckets()) {
      below += bucket.count.value();
      start("_bucket", *instance);
      out_.label("le", number(static_cast<double>(bucket.upper_bound)));
      out_.end_sample(below);
    }
    write("_sum", *instance, x->sum());
    // Not counted apart: a sample in between must not make the two differ.
    write("_count", *instance, below);
  }

private:
  // False for CAF's own.
  bool begin(const telemetry::metric_family& x, std::string_view type) {
    if (!x.prefix().starts_with("reeve"))
      return false;
    if (std::exchange(family_, &x) != &x)
      out_.begin(name_of(x), type, x.helptext());
    return true;
  }

  void start(std::string_view suffix, const telemetry::metric& x) {
    out_.text_.append(out_.name_).append(suffix);
    for (const auto& one : x.labels())
      out_.label(view(one.name()), view(one.value()));
  }

  template <class T>
  void write(std::string_view suffix, const telemetry::metric& x, T value) {
    start(suffix, x);
    out_.end_sample(value);
  }

  exposition& out_;
  const telemetry::metric_family* family_ = nullptr;
};

exposition& exposition::counter(std::string_view name, std::string_view help) {
  begin(name, "counter", help);
  return *this;
}

exposition& exposition::gauge(std::string_view name, std::string_view help) {
  begin(name, "gauge", help);
  return *this;
}

exposition& exposition::sample(const labels& which, double value) {
  text_ += name_;
  for (const auto& [name, text] : which)
    label(name, text);
  end_sample(value);
  return *this;
}

void exposition::add(const telemetry::metric_registry& registry) {
  collector all{*this};
  registry.collect(all);
}

void exposition::begin(std::string_view name, std::string_view type,
                       std::string_view help) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ");
  append_escaped(text_, help, false);
  text_.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void exposition::label(std::string_view name, std::string_view value) {
  text_.append(std::exchange(labelled_, true) ? "," : "{");
  text_.append(name).append("=\"");
  append_escaped(text_, value, true);
  text_ += '"';
}

void exposition::end_sample(double value) {
  text_.append(std::exchange(labelled_, false) ? "} " : " ");
  text_.append(number(value)).append("\n");
}

void exposition::end_sample(int64_t value) {
  text_.append(std::exchange(labelled_, false) ? "} " : " ");
  text_.append(std::to_string(value)).append("\n");
}

} // namespace reeve
