// actors/interfaces.hpp -- every message and every actor interface: the map of
// the node. Messages never leave the process, hence most are not serializable.
#pragma once

#include "persistence/job.hpp"
#include "persistence/job_store.hpp"
#include "processors/processor.hpp"

#include <caf/actor_addr.hpp>
#include <caf/default_enum_inspect.hpp>
#include <caf/error.hpp>
#include <caf/is_error_code_enum.hpp>
#include <caf/string_view.hpp>
#include <caf/type_id.hpp>
#include <caf/typed_actor.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

namespace reeve {

// -- errors -------------------------------------------------------------------

/// Failures that travel between actors, cut by what the caller may do. Append
/// only: values end up in logs.
enum class ec : uint8_t {
  /// The database is away and nothing was written: try again later.
  store_unavailable = 1,
  /// Whether the write was committed is not known: look, or repeat with the
  /// same ids.
  outcome_unknown,
  /// The store cannot keep a value: give up.
  invalid_argument,
  not_found,
  /// The job's state forbids this.
  conflict,
  /// Another run owns the job by now: drop the result.
  lease_lost,
  /// The idempotency key came with another request before.
  key_reused,
  /// The node takes no new work: try another one, or later.
  shutting_down,
  /// A child failed more often than its budget allows.
  restart_limit,
  /// The listening socket could not be opened.
  cannot_listen,
};

std::string to_string(ec x);
bool from_string(caf::string_view in, ec& out);
bool from_integer(uint8_t in, ec& out);

template <class Inspector>
bool inspect(Inspector& f, ec& x) {
  return caf::default_enum_inspect(f, x);
}

/// What a store's refusal is called between actors.
caf::error make_error(const refusal& x);

// -- messages -----------------------------------------------------------------

/// Jobs as one transaction left them, in commit order.
struct committed_changes {
  std::vector<job> jobs;
};

/// Tells a run to end early. Shared by the supervisor, the job actor and the
/// executor, so that it works although the executor's thread is busy.
struct run_control {
  std::stop_source stop;
};
using run_control_ptr = std::shared_ptr<run_control>;

/// One run, from the supervisor to a job actor and on to its executor.
struct assignment {
  reeve::job job;
  run_control_ptr control;
  std::chrono::milliseconds timeout{0};
};

/// How a run ended, from the executor to its job actor to the supervisor.
struct run_report {
  int64_t seq = 0;
  int64_t run = 0;
  outcome result;
};

/// How far a run is.
struct run_progress {
  int64_t seq = 0;
  int64_t run = 0;
  int percent = 0;
  std::string message;
};

/// What a watcher wants to see: one job, or all that fit.
struct watch_filter {
  std::optional<std::string> job_id;
  std::optional<std::string> type;
  std::optional<std::string> user_id;
  /// Resume after this event of the shared feed, or this version of the job.
  std::optional<int64_t> last_seen;
};

/// One committed change, numbered by the hub.
struct job_event {
  int64_t number = 0;
  std::shared_ptr<const job> what;
};

/// The answer to a subscription.
struct watch_started {
  /// Events since `last_seen`, when the replay buffer reaches back that far.
  std::vector<job_event> replay;
  /// It does not reach back: the watcher has missed something.
  bool gap = false;
  /// The number of the newest event.
  int64_t newest = 0;
  /// When it dies, so does the subscription.
  caf::actor_addr hub;
};

/// An actor as `/api/actors` shows it.
struct actor_report {
  std::string name;
  uint64_t id = 0;
  std::string parent;
  /// `running`, `idle`, `degraded`, `away`, `draining`, `unresponsive`, …
  std::string state;
  uint64_t mailbox = 0;
  uint64_t messages = 0;
  uint32_t restarts = 0;
  std::string last_error;
  std::chrono::milliseconds uptime{0};
  std::optional<std::string> job_id;
};

struct tree_report {
  std::vector<actor_report> actors;
};

/// How a drain went.
struct drain_report {
  uint32_t finished = 0;
  uint32_t returned = 0;
  /// Runs whose end could not be written; the next boot rescues them.
  uint32_t unsettled = 0;
};

template <class Inspector>
bool inspect(Inspector& f, drain_report& x) {
  return f.object(x).fields(f.field("finished", x.finished),
                            f.field("returned", x.returned),
                            f.field("unsettled", x.unsettled));
}

/// Somebody who follows jobs.
using watcher_actor = caf::typed_actor<
  // A committed change; versions of one job only grow.
  caf::result<void>(job_event)>;

using job_list = std::vector<job>;
using attempt_list = std::vector<attempt>;
using card_list = std::vector<knowledge_card>;

} // namespace reeve

// -- type ids -----------------------------------------------------------------

// clang-format off
CAF_BEGIN_TYPE_ID_BLOCK(reeve, caf::first_custom_type_id)

  CAF_ADD_TYPE_ID(reeve, (reeve::ec))
  CAF_ADD_TYPE_ID(reeve, (reeve::drain_report))

  CAF_ADD_TYPE_ID(reeve, (reeve::actor_report))
  CAF_ADD_TYPE_ID(reeve, (reeve::api_key))
  CAF_ADD_TYPE_ID(reeve, (reeve::assignment))
  CAF_ADD_TYPE_ID(reeve, (reeve::attempt_list))
  CAF_ADD_TYPE_ID(reeve, (reeve::cancel_write))
  CAF_ADD_TYPE_ID(reeve, (reeve::card_list))
  CAF_ADD_TYPE_ID(reeve, (reeve::changed))
  CAF_ADD_TYPE_ID(reeve, (reeve::claim_write))
  CAF_ADD_TYPE_ID(reeve, (reeve::claimed))
  CAF_ADD_TYPE_ID(reeve, (reeve::committed_changes))
  CAF_ADD_TYPE_ID(reeve, (reeve::delete_scrap_write))
  CAF_ADD_TYPE_ID(reeve, (reeve::done))
  CAF_ADD_TYPE_ID(reeve, (reeve::enqueue_batch_write))
  CAF_ADD_TYPE_ID(reeve, (reeve::enqueue_write))
  CAF_ADD_TYPE_ID(reeve, (reeve::enqueued))
  CAF_ADD_TYPE_ID(reeve, (reeve::enqueued_batch))
  CAF_ADD_TYPE_ID(reeve, (reeve::heartbeat_write))
  CAF_ADD_TYPE_ID(reeve, (reeve::job))
  CAF_ADD_TYPE_ID(reeve, (reeve::job_event))
  CAF_ADD_TYPE_ID(reeve, (reeve::job_filter))
  CAF_ADD_TYPE_ID(reeve, (reeve::job_list))
  CAF_ADD_TYPE_ID(reeve, (reeve::knowledge_card))
  CAF_ADD_TYPE_ID(reeve, (reeve::progress_write))
  CAF_ADD_TYPE_ID(reeve, (reeve::renewed))
  CAF_ADD_TYPE_ID(reeve, (reeve::rescue_write))
  CAF_ADD_TYPE_ID(reeve, (reeve::rescued))
  CAF_ADD_TYPE_ID(reeve, (reeve::retry_write))
  CAF_ADD_TYPE_ID(reeve, (reeve::run_progress))
  CAF_ADD_TYPE_ID(reeve, (reeve::run_report))
  CAF_ADD_TYPE_ID(reeve, (reeve::scrap))
  CAF_ADD_TYPE_ID(reeve, (reeve::settle_write))
  CAF_ADD_TYPE_ID(reeve, (reeve::store_stats))
  CAF_ADD_TYPE_ID(reeve, (reeve::tree_report))
  CAF_ADD_TYPE_ID(reeve, (reeve::watch_filter))
  CAF_ADD_TYPE_ID(reeve, (reeve::watch_started))
  CAF_ADD_TYPE_ID(reeve, (reeve::watcher_actor))

  CAF_ADD_ATOM(reeve, reeve, attempts_atom)
  CAF_ADD_ATOM(reeve, reeve, boot_atom)
  CAF_ADD_ATOM(reeve, reeve, card_atom)
  CAF_ADD_ATOM(reeve, reeve, cards_atom)
  CAF_ADD_ATOM(reeve, reeve, drain_atom)
  CAF_ADD_ATOM(reeve, reeve, due_atom)
  CAF_ADD_ATOM(reeve, reeve, find_atom)
  CAF_ADD_ATOM(reeve, reeve, flush_atom)
  CAF_ADD_ATOM(reeve, reeve, interrupt_atom)
  CAF_ADD_ATOM(reeve, reeve, key_atom)
  CAF_ADD_ATOM(reeve, reeve, ready_atom)
  CAF_ADD_ATOM(reeve, reeve, reconnect_atom)
  CAF_ADD_ATOM(reeve, reeve, restart_atom)
  CAF_ADD_ATOM(reeve, reeve, run_atom)
  CAF_ADD_ATOM(reeve, reeve, scrap_atom)
  CAF_ADD_ATOM(reeve, reeve, stats_atom)
  CAF_ADD_ATOM(reeve, reeve, status_atom)
  CAF_ADD_ATOM(reeve, reeve, sweep_atom)
  CAF_ADD_ATOM(reeve, reeve, timeout_atom)
  CAF_ADD_ATOM(reeve, reeve, tree_atom)
  CAF_ADD_ATOM(reeve, reeve, wake_atom)
  CAF_ADD_ATOM(reeve, reeve, watch_atom)

CAF_END_TYPE_ID_BLOCK(reeve)
// clang-format on

CAF_ERROR_CODE_ENUM(reeve::ec)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::actor_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::api_key)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::assignment)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::attempt_list)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::cancel_write)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::card_list)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::changed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::claim_write)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::claimed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::committed_changes)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::delete_scrap_write)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::done)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::enqueue_batch_write)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::enqueue_write)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::enqueued)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::enqueued_batch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::heartbeat_write)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::job)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::job_event)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::job_filter)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::job_list)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::knowledge_card)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::progress_write)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::renewed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::rescue_write)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::rescued)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::retry_write)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::run_progress)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::run_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::scrap)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::settle_write)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::store_stats)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::tree_report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::watch_filter)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(reeve::watch_started)

namespace reeve {

// -- interfaces ---------------------------------------------------------------

/// What every long-lived actor answers; its mailbox depth is its own view.
using inspectable_actor = caf::typed_actor<
  // Never fails; the supervisor fills in name, parent and restarts.
  caf::result<actor_report>(status_atom)>;

/// Reads, from committed state only. All fail with `store_unavailable`.
using reader_actor = caf::typed_actor<
  // A job by id. Fails with `not_found`.
  caf::result<job>(find_atom, std::string),
  // A page of jobs, newest first.
  caf::result<job_list>(find_atom, job_filter),
  // All runs of a job that did not end in COMPLETED. Fails with `not_found`.
  caf::result<attempt_list>(attempts_atom, std::string),
  // Fails with `not_found`.
  caf::result<scrap>(scrap_atom, std::string),
  // Fails with `not_found`.
  caf::result<knowledge_card>(card_atom, std::string),
  // The cards of a scrap, newest first.
  caf::result<card_list>(cards_atom, std::string),
  caf::result<store_stats>(stats_atom),
  // An API key by its digest. Fails with `not_found`.
  caf::result<api_key>(key_atom, std::string),
  // Does the database answer? The supervisor also fails with
  // `shutting_down`.
  caf::result<void>(ready_atom)>;

/// Writes that clients ask for; answered after the commit. All fail with
/// `store_unavailable` (nothing was written), `outcome_unknown` and
/// `invalid_argument`.
using writer_actor = caf::typed_actor<
  // Fails with `key_reused`.
  caf::result<enqueued>(enqueue_write),
  // All or none.
  caf::result<enqueued_batch>(enqueue_batch_write),
  // Fails with `not_found` and `conflict`.
  caf::result<changed>(cancel_write),
  // Fails with `not_found` and `conflict`.
  caf::result<changed>(retry_write),
  // Fails with `not_found`.
  caf::result<done>(delete_scrap_write),
  // How far a run is. Fails with `lease_lost`.
  caf::result<changed>(progress_write)>;

/// The DB ACTOR: the only writer. Queues what comes and commits it in groups.
/// The flag says that an earlier try may have been committed.
using db_actor = writer_actor::extend_with<inspectable_actor>::extend<
  caf::result<claimed>(claim_write, bool),
  // Fails with `lease_lost`.
  caf::result<changed>(settle_write, bool),
  caf::result<renewed>(heartbeat_write), caf::result<rescued>(rescue_write),
  // INTERNAL: everything that was queued by now goes into one transaction.
  caf::result<void>(flush_atom),
  // INTERNAL: try to reach the database again.
  caf::result<void>(reconnect_atom)>;

/// The QUERY ACTOR: every read, on a connection of its own.
using query_actor = reader_actor::extend_with<inspectable_actor>;

/// The EVENT HUB: fans committed changes out to watchers.
using event_hub_actor =
  inspectable_actor::extend<caf::result<void>(committed_changes),
                            // Subscribes until the watcher dies.
                            caf::result<watch_started>(watch_atom, watch_filter,
                                                       watcher_actor)>;

/// The EXECUTOR: a thread that runs processors, one at a time.
using executor_actor = caf::typed_actor<
  // Runs the job; the end goes to the job actor as a `run_report`.
  caf::result<void>(run_atom, assignment)>;

/// A JOB ACTOR: one slot. Always responsive: the work is in its executor.
using job_actor = inspectable_actor::extend<
  // Starts a run; the end goes to the supervisor as a `run_report`.
  caf::result<void>(run_atom, assignment),
  // Stops the run of a job (`seq`, `run`) early: cancelled or lease lost.
  caf::result<void>(interrupt_atom, int64_t, int64_t),
  // From the executor.
  caf::result<void>(run_report),
  // From the executor.
  caf::result<void>(run_progress),
  // INTERNAL: the time of the n-th run in this slot is up, or its grace.
  caf::result<void>(timeout_atom, uint64_t),
  // INTERNAL: writes the newest progress of the n-th run.
  caf::result<void>(flush_atom, uint64_t)>;

/// The RECOVERY actor: returns jobs whose node died.
using recovery_actor = inspectable_actor::extend<
  // Sweeps until nothing stale is left; how many jobs were returned.
  caf::result<uint32_t>(sweep_atom),
  // INTERNAL: timer loop.
  caf::result<void>(caf::tick_atom)>;

/// The SCHEDULER: wakes the supervisor when a waiting job comes due.
using scheduler_actor = inspectable_actor::extend<
  // A job is due in so many milliseconds.
  caf::result<void>(due_atom, int64_t),
  // INTERNAL: the earliest one is due now.
  caf::result<void>(caf::tick_atom, int64_t),
  // INTERNAL: looks for work that nothing announced.
  caf::result<void>(wake_atom)>;

/// The LISTENER: wakes the node when another process enqueues.
using listener_actor = inspectable_actor::extend<
  // INTERNAL: waits for notifications for a while.
  caf::result<void>(caf::tick_atom)>;

/// The HTTP GATEWAY: owns the listening socket, forks a broker a client.
using gateway_actor = inspectable_actor::extend<
  // The port it listens on. Fails with `cannot_listen`.
  caf::result<uint16_t>(caf::get_atom),
  // Tells connections to close after their current answer.
  caf::result<void>(drain_atom)>;

/// What others may ask of the supervisor: it forwards reads and writes to
/// whoever serves them now, so that no handle goes stale.
using supervisor_actor = reader_actor::extend_with<writer_actor>::extend<
  // Starts everything, in order; answers with the port once the node serves.
  caf::result<uint16_t>(boot_atom),
  // Takes no new work, waits for running jobs, then ends.
  caf::result<drain_report>(drain_atom),
  // From the db actor.
  caf::result<void>(committed_changes),
  // From recovery: stale jobs go back.
  caf::result<rescued>(rescue_write),
  // From a job actor.
  caf::result<void>(run_report),
  // There may be work.
  caf::result<void>(wake_atom),
  // Forwarded to the event hub.
  caf::result<watch_started>(watch_atom, watch_filter, watcher_actor),
  // The supervision tree; silent actors are `unresponsive`.
  caf::result<tree_report>(tree_atom),
  // INTERNAL: renews this node's leases.
  caf::result<void>(caf::tick_atom),
  // INTERNAL: the grace of running jobs is over.
  caf::result<void>(interrupt_atom),
  // INTERNAL: starts a child again after its backoff.
  caf::result<void>(restart_atom, std::string)>;

} // namespace reeve
