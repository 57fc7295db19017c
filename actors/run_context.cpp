// actors/run_context.cpp -- requests of a run: stop-aware, and patient while
// the database is away.
#include "actors/run_context.hpp"

#include "config/log.hpp"

#include <caf/expected.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace reeve {

namespace {

using namespace std::chrono_literals;

/// How long one read or write may take before it is asked again.
constexpr auto read_timeout = 10s;
constexpr auto write_timeout = 60s;
/// A search may ask a provider.
constexpr auto search_timeout = 3min;
/// A gate answers as soon as it can, and the run's own timeout ends the wait.
constexpr auto permit_timeout = 24h;
/// How long the end of a run may wait for a lane to learn of its call.
constexpr auto report_timeout = 5s;
/// How long a run that is to stop may wait for the commit of what it paid for;
/// less than `queue.wedged-grace`.
constexpr auto step_grace = 2s;
constexpr auto retry_interval = 200ms;

// The right to make a call; given back however the call ends.
class lane_permit final : public call_permit {
public:
  /// `self` must outlive the permit.
  lane_permit(caf::scoped_actor& self, run_services_actor services,
              std::string lane, uint64_t permit, std::stop_token stop)
    : self_(self),
      services_(std::move(services)),
      what_{std::move(lane), permit, std::nullopt},
      stop_(std::move(stop)) {
    // nop
  }

  lane_permit(const lane_permit&) = delete;
  lane_permit& operator=(const lane_permit&) = delete;

  ~lane_permit() override {
    give_back();
  }

  void report(call_report x) override {
    // A call that was broken off tells nothing about its provider.
    if (!stop_.stop_requested() || x.effect != lane_effect::none)
      what_.how = std::move(x);
    give_back();
  }

private:
  // Waits for the gate, whether the run is to stop or not: when the holder dies
  // first, the gate takes the permit back without the report.
  void give_back() {
    if (std::exchange(given_back_, true))
      return;
    self_->request(services_, report_timeout, std::move(what_))
      .receive([] {},
               [](const caf::error& err) {
                 log::warn("run.report-lost", {{"error", to_string(err)}});
               });
  }

  caf::scoped_actor& self_;
  run_services_actor services_;
  permit_return what_;
  std::stop_token stop_;
  bool given_back_ = false;
};

} // namespace

run_context::run_context(caf::actor_system& sys, const assignment& what,
                         job_actor owner, run_services_actor services)
  : sys_(sys),
    what_(what),
    owner_(std::move(owner)),
    services_(std::move(services)),
    // Nobody has stored a step for a job that never ran.
    steps_loaded_(what.job.run <= 1) {
  // nop
}

const job& run_context::current() const {
  return what_.job;
}

void run_context::progress(int percent, std::string_view message) {
  caf::anon_send(owner_,
                 run_progress{what_.job.seq, what_.job.run,
                              std::clamp(percent, 0, 100),
                              std::string{message}});
}

std::stop_token run_context::stop() const {
  return what_.control.get_token();
}

// -- providers ----------------------------------------------------------------

std::unique_ptr<call_permit> run_context::acquire(const std::string& lane,
                                                  uint64_t tokens) {
  if (lane.empty())
    return nullptr;
  for (;;) {
    auto answer =
      ask<permit_answer>(permit_timeout, permit_request{lane, tokens});
    if (answer && answer->permit != 0)
      return std::make_unique<lane_permit>(self(), services_, lane,
                                           answer->permit, stop());
    if (answer) {
      auto make = answer->kind == run_outcome::throttled
        ? outcome::throttled
        : outcome::provider_down;
      throw run_ended{make(std::move(answer->reason), answer->delay)};
    }
    if (answer.error() == ec::not_found)
      throw run_ended{outcome::failed("This node has no lane " + lane)};
    wait_before_retry();
  }
}

// -- data ---------------------------------------------------------------------

std::optional<scrap> run_context::find_scrap(const std::string& id) {
  return look_up<scrap>(scrap_atom_v, id);
}

std::optional<content> run_context::find_content(const std::string& id) {
  return look_up<content>(content_query{id});
}

std::optional<summary_view> run_context::find_summary(
  const std::string& id_or_date, const std::optional<std::string>& user_id) {
  return look_up<summary_view>(summary_query{id_or_date, user_id});
}

std::vector<knowledge_card> run_context::cards_between(
  const std::optional<std::string>& user_id, timestamp from, timestamp to,
  uint32_t limit) {
  return look_up<card_list>(cards_query{user_id, from, to, limit})
    .value_or(card_list{});
}

std::vector<card_hit> run_context::similar_cards(const card_search& what) {
  for (;;) {
    auto answer = ask<card_hits>(search_timeout, what);
    if (answer)
      return std::move(*answer);
    wait_before_retry();
  }
}

// -- durable steps ------------------------------------------------------------

std::optional<nlohmann::json> run_context::find_step(
  const std::string& name, const std::string& input_hash) {
  if (!steps_loaded_)
    load_steps();
  auto i = steps_.find({name, input_hash});
  return i != steps_.end() ? std::optional{i->second} : std::nullopt;
}

void run_context::load_steps() {
  auto known = look_up<step_list>(steps_query{what_.job.id});
  if (known)
    for (auto& x : *known)
      remember(std::move(x));
  steps_loaded_ = true;
}

void run_context::remember(job_step&& x) {
  steps_.insert_or_assign({std::move(x.name), std::move(x.input_hash)},
                          std::move(x.result));
}

void run_context::store_step(job_step step, std::vector<effect> effects) {
  step_write write{what_.job.seq, what_.job.run, std::move(step),
                   std::move(effects)};
  for (auto repeated = false;; repeated = true) {
    // Sent although the run may have been told to stop: it was paid for, and as
    // long as the run holds its job the store takes it.
    auto answer = request<changed>(write_timeout, step_grace, write, repeated);
    if (answer) {
      remember(std::move(write.step));
      return;
    }
    const auto& err = answer.error();
    if (err == ec::lease_lost)
      throw run_ended{outcome::cancelled()};
    if (err == ec::not_found)
      throw run_ended{
        outcome::failed_permanently(std::string{target_gone_message})};
    if (err == ec::invalid_argument)
      throw run_ended{outcome::failed_permanently("The step " + write.step.name
                                                  + " could not be stored: "
                                                  + to_string(err))};
    wait_before_retry();
  }
}

// -- waiting ------------------------------------------------------------------

// Most short runs never ask.
caf::scoped_actor& run_context::self() {
  if (!self_)
    self_.emplace(sys_);
  return *self_;
}

template <class T, class... Ts>
caf::expected<T> run_context::request(caf::timespan timeout,
                                      caf::timespan grace, Ts... xs) {
  caf::expected<T> result{caf::make_error(ec::store_unavailable)};
  auto pending = self()->request(services_, timeout, std::move(xs)...);
  // The answer that ends the wait when the run is to stop. A real one that
  // comes later stays unread and goes with this actor.
  auto give_up = [self = caf::actor_cast<caf::strong_actor_ptr>(self()),
                  id = pending.policy().id(), grace] {
    auto& clock = self->home_system->clock();
    clock.schedule_message(
      clock.now() + grace, self,
      caf::make_mailbox_element(nullptr, id, {},
                                caf::make_error(ec::shutting_down)));
  };
  std::stop_callback on_stop{stop(), give_up};
  pending.receive([&](T& x) { result = std::move(x); },
                  [&](caf::error& err) { result = std::move(err); });
  return result;
}

template <class T, class... Ts>
caf::expected<T> run_context::ask(caf::timespan timeout, Ts... xs) {
  end_if_stopped();
  auto result = request<T>(timeout, caf::timespan{0}, std::move(xs)...);
  end_if_stopped();
  return result;
}

template <class T, class... Ts>
std::optional<T> run_context::look_up(Ts... xs) {
  for (;;) {
    auto answer = ask<T>(read_timeout, xs...);
    if (answer)
      return std::move(*answer);
    if (answer.error() == ec::not_found)
      return std::nullopt;
    // The database is away or the reader restarts: the run can wait.
    wait_before_retry();
  }
}

void run_context::wait_before_retry() {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock guard{mutex};
  changed.wait_for(guard, stop(), retry_interval, [] { return false; });
  end_if_stopped();
}

void run_context::end_if_stopped() const {
  if (stop().stop_requested())
    throw run_ended{outcome::cancelled()};
}

} // namespace reeve
