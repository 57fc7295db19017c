// actors/run_context.hpp -- the node as a processor sees it. Everything blocks
// the executor's thread, and ends once the run is told to stop.
#pragma once

#include "actors/interfaces.hpp"

#include <caf/scoped_actor.hpp>

#include <map>
#include <optional>
#include <string>
#include <utility>

namespace reeve {

class run_context final : public job_context {
public:
  /// `what` must outlive the context.
  run_context(caf::actor_system& sys, const assignment& what, job_actor owner,
              run_services_actor services);

  const job& current() const override;
  void progress(int percent, std::string_view message) override;
  std::stop_token stop() const override;
  std::unique_ptr<call_permit> acquire(const std::string& lane,
                                       uint64_t tokens) override;
  std::optional<scrap> find_scrap(const std::string& id) override;
  std::optional<content> find_content(const std::string& id) override;
  std::optional<summary_view> find_summary(
    const std::string& id_or_date,
    const std::optional<std::string>& user_id) override;
  std::vector<knowledge_card> cards_between(
    const std::optional<std::string>& user_id, timestamp from, timestamp to,
    uint32_t limit) override;
  std::vector<card_hit> similar_cards(const card_search& what) override;

protected:
  std::optional<nlohmann::json> find_step(
    const std::string& name, const std::string& input_hash) override;
  void store_step(job_step step, std::vector<effect> effects) override;

private:
  using step_key = std::pair<std::string, std::string>;

  /// One request to the node. Once the run is to stop, an answer is waited for
  /// only so much longer as `grace`.
  template <class T, class... Ts>
  caf::expected<T> request(caf::timespan timeout, caf::timespan grace,
                           Ts... xs);

  /// A request without grace. Throws `run_ended` once the run is to stop.
  template <class T, class... Ts>
  caf::expected<T> ask(caf::timespan timeout, Ts... xs);

  /// Asks until the answer is there or certain not to be: `not_found`.
  template <class T, class... Ts>
  std::optional<T> look_up(Ts... xs);

  caf::scoped_actor& self();
  void load_steps();
  void remember(job_step&& x);
  void wait_before_retry();
  void end_if_stopped() const;

  caf::actor_system& sys_;
  std::optional<caf::scoped_actor> self_;
  const assignment& what_;
  job_actor owner_;
  run_services_actor services_;
  std::map<step_key, nlohmann::json> steps_;
  bool steps_loaded_ = false;
};

} // namespace reeve
