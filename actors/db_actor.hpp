// actors/db_actor.hpp -- every write: group commit and reconnects.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/metered_actor.hpp"
#include "actors/metrics.hpp"

#include <caf/typed_event_based_actor.hpp>
#include <caf/typed_response_promise.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace reeve {

/// Where committed changes go; the supervisor in production.
using change_sink_actor =
  caf::typed_actor<caf::result<void>(committed_changes)>;

struct db_actor_options {
  /// Most writes in one transaction.
  size_t max_batch = 4'000;
  /// First and longest wait between attempts to reach a lost database.
  std::chrono::milliseconds first_backoff{50};
  std::chrono::milliseconds max_backoff{2'000};
  /// Other nodes are told of new work at most this often: what the server
  /// does for it is worth many writes.
  std::chrono::milliseconds announce_interval{20};
  /// How long a write waits at most for the one that it could share its
  /// transaction with: a new job for its claim, and the end of a run for the
  /// next job, while these come less than this apart.
  std::chrono::milliseconds patience{5};
  /// How long no end waits after one that did so in vain.
  std::chrono::milliseconds impatience{100};
};

class db_actor_state {
public:
  static constexpr const char* name = "reeve.db";

  db_actor_state(db_actor::pointer self, std::unique_ptr<job_store> store,
                 change_sink_actor sink, db_actor_options options);

  db_actor::behavior_type make_behavior();

private:
  /// Writes that wait for the next commit, and whom to tell.
  struct pending {
    std::vector<write_entry> entries;
    std::function<void(std::span<write_answer>)> deliver;
  };

  enum class commit_when : uint8_t {
    now,
    /// With the next write that is committed now.
    next_write_comes,
    /// The same; alone, if none comes soon.
    next_write_comes_soon,
  };

  template <class Answer>
  caf::result<Answer> append(write what, bool repeated = false,
                             commit_when when = commit_when::now);
  caf::result<settled> append(settle_list& what, bool repeated);

  /// A long outage must not pile up copies of one end that is asked again.
  void forget_waiting(const settle_list& x);

  void flush();
  void commit(std::vector<pending>& batch);
  bool publish(const std::vector<write_entry>& entries,
               std::vector<write_answer>& answers);
  void announce();
  void lose_connection(std::vector<pending> batch, const char* what);
  void reconnect();
  void reconnect_later();
  void schedule_flush();
  void schedule_flush(commit_when when);
  void lose_patience();
  void note_arrival();
  bool expects_arrival() const;
  actor_report status() const;

  db_actor::pointer self_;
  std::unique_ptr<job_store> store_;
  change_sink_actor sink_;
  db_actor_options options_;
  metrics metrics_;
  std::vector<pending> waiting_;
  bool flush_scheduled_ = false;
  /// The last new job, and how long it came after the one before.
  std::optional<caf::actor_clock::time_point> arrived_at_;
  caf::timespan arrival_gap_ = caf::timespan::max();
  caf::actor_clock::time_point impatient_until_;
  /// Writes that came since so many commits wait for company.
  std::optional<uint64_t> patient_since_;
  /// The database cannot be reached: a state, not a crash.
  bool away_ = false;
  /// The last connection committed something.
  bool proven_ = true;
  std::chrono::milliseconds backoff_;
  std::string last_error_;
  /// An announcement is under way or waits for its time.
  bool announce_armed_ = false;
  std::optional<caf::actor_clock::time_point> announced_at_;
  uint64_t commits_ = 0;
  uint64_t writes_ = 0;
  // As `commit_figures`.
  log_histogram batch_{1, 16};
  log_histogram commit_seconds_{1e-6, 28};
  log_histogram queue_{1, 20};
};

using db_actor_impl = metered_actor<db_actor::stateful_impl<db_actor_state>>;

} // namespace reeve
