// actors/run_bundle.cpp -- who is next, who has ended, what was taken back.
#include "actors/run_bundle.hpp"

#include <utility>

namespace reeve {

run_bundle::run_bundle(std::vector<assignment> runs)
  : runs_(std::move(runs)), end_(runs_.size()) {
  // nop
}

const assignment* run_bundle::begin_next(time_point now) {
  std::lock_guard guard{mutex_};
  if (next_ == end_)
    return nullptr;
  busy_ = true;
  since_ = now;
  return &runs_[next_++];
}

bool run_bundle::finish(outcome result, time_point now) {
  std::lock_guard guard{mutex_};
  const auto& job = runs_[next_ - 1].job;
  reports_.push_back({job.seq, job.run, std::move(result), now - since_});
  busy_ = false;
  return next_ != end_;
}

std::optional<run_bundle::current_run> run_bundle::current() const {
  std::lock_guard guard{mutex_};
  if (!busy_)
    return std::nullopt;
  return current_run{&runs_[next_ - 1], since_};
}

std::vector<run_report> run_bundle::take_reports() {
  std::lock_guard guard{mutex_};
  return std::exchange(reports_, {});
}

std::vector<run_key> run_bundle::take_back() {
  std::vector<run_key> result;
  std::lock_guard guard{mutex_};
  for (auto i = next_; i < end_; ++i)
    result.push_back(key_of(runs_[i].job));
  end_ = next_;
  return result;
}

bool run_bundle::stop(run_key which) {
  for (const auto& x : runs_)
    if (key_of(x.job) == which) {
      x.control.request_stop();
      return true;
    }
  return false;
}

void run_bundle::stop() {
  for (const auto& x : runs_)
    x.control.request_stop();
}

} // namespace reeve
