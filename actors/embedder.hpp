// actors/embedder.hpp -- questions in words: each becomes an embedding, by the
// rules of its provider's lane, and is then searched for.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"
#include "processors/ai/analysis_model.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace reeve {

struct embedder_options {
  /// How long a provider may take for one embedding.
  caf::timespan deadline = std::chrono::seconds{8};
  /// How long an asker waits, and a little less: it is to hear why there is no
  /// answer before it gives up (`http.answer-timeout`).
  caf::timespan patience = std::chrono::milliseconds{9'500};
  /// Queries that may wait for their turn; more are refused at once.
  size_t max_waiting = 8;
};

/// Queues queries and asks for permits. It never blocks: the calls are made by
/// an actor of its own, one at a time.
class embedder_state {
public:
  static constexpr const char* name = "reeve.embedder";

  using caller_factory = std::function<embedding_caller_actor()>;

  embedder_state(embedder_actor::pointer self, run_services_actor services,
                 lane_key lane, const caller_factory& make_caller,
                 embedder_options options);

  ~embedder_state();

  embedder_actor::behavior_type make_behavior();

private:
  using time_point = caf::actor_clock::time_point;

  struct waiting_query {
    recall_query what;
    time_point give_up_at;
    caf::typed_response_promise<card_hits> open;
  };

  /// The call under way.
  struct running_call {
    waiting_query query;
    std::stop_source control;
    /// 0: the lane is nobody's.
    uint64_t permit = 0;
  };

  caf::result<card_hits> recall(recall_query& x);
  /// Asks for a permit, or calls at once, if somebody waits and nothing is
  /// under way.
  void advance();
  void on_permit(const permit_answer& x);
  void call(uint64_t permit);
  void on_embedding(embedding_answer& x);
  void on_caller_silent(const caf::error& err);
  void end_call(std::optional<call_report> how);
  void give_back(uint64_t permit, std::optional<call_report> how);
  /// Answers those who have given up.
  void drop_late();
  void refuse(waiting_query& x, const std::string& why,
              std::optional<std::chrono::milliseconds> delay);
  caf::error unavailable(const std::string& why,
                         std::optional<std::chrono::milliseconds> delay) const;
  actor_report status() const;

  embedder_actor::pointer self_;
  run_services_actor services_;
  lane_key lane_;
  embedding_caller_actor caller_;
  embedder_options options_;
  std::deque<waiting_query> waiting_;
  bool asks_for_permit_ = false;
  std::optional<running_call> running_;
  uint64_t calls_ = 0;
  std::string last_error_;
};

using embedder_impl =
  metered_actor<embedder_actor::stateful_impl<embedder_state>>;

/// The thread that the calls block.
class embedding_caller_state {
public:
  static constexpr const char* name = "reeve.embedding-caller";

  embedding_caller_state(embedding_caller_actor::pointer self,
                         std::shared_ptr<analysis_model> model);

  embedding_caller_actor::behavior_type make_behavior();

private:
  std::shared_ptr<analysis_model> model_;
};

/// To be spawned `caf::detached`.
using embedding_caller_impl =
  embedding_caller_actor::stateful_impl<embedding_caller_state>;

} // namespace reeve
