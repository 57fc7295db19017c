// actors/messages.hpp -- every message between actors. They never leave the
// process, hence most are not serializable.
#pragma once

#include "actors/job_change.hpp"
#include "actors/log_histogram.hpp"
#include "actors/run_bundle.hpp"
#include "persistence/job_store.hpp"
#include "processors/processor.hpp"

#include <caf/actor_addr.hpp>
#include <caf/default_enum_inspect.hpp>
#include <caf/error.hpp>
#include <caf/is_error_code_enum.hpp>
#include <caf/string_view.hpp>
#include <caf/timespan.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
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
  /// The user's balance is smaller than the price.
  insufficient_funds,
  /// A provider that the answer needs takes no calls or failed; its context is
  /// a text for the client, and a `caf::timespan` when it is known how long.
  provider_unavailable,
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

/// What one transaction changed, or the runs that a claim started, in the order
/// of their versions.
struct committed_changes {
  std::vector<job_change> jobs;
  /// It left jobs behind that some node could start now; for the supervisor.
  bool leaves_due_work = false;
};

/// Ends of runs, to be committed together.
using settle_list = std::vector<settle_write>;

/// Which of them were not committed, and why; in the same order.
struct settled {
  std::vector<std::optional<refusal>> refusals;
};

/// From an executor to its job actor: the bundle has ends to be taken.
struct run_news {
  run_bundle_ptr of;
};

/// From a job actor to the supervisor.
struct run_reports {
  std::vector<run_report> ended;
  /// Taken back before they were begun.
  std::vector<run_key> returned;
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
  job_ptr what;
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

/// What a lane does with calls.
enum class lane_state : uint8_t {
  open,
  /// Nobody calls before an instant: the provider asked for it.
  parked,
  /// The breaker is open: the provider was down several times in a row.
  broken,
  /// One call may find out whether the provider is back.
  probing,
  /// A bad key or spent money: until somebody resumes it.
  paused,
};

std::string to_string(lane_state x);

/// A lane as operators see it, and as the supervisor chooses work by.
struct lane_report {
  /// `provider/model`.
  std::string name;
  lane_state state = lane_state::open;
  /// Why it is not open.
  std::string reason;
  /// Until it opens or probes by itself; empty: does not apply.
  std::optional<std::chrono::milliseconds> opens_in;
  uint32_t in_flight = 0;
  uint32_t concurrency = 1;
  uint32_t waiting = 0;
  uint64_t calls = 0;
  /// Outages in a row.
  uint32_t outages = 0;
  rate_limits limits;
};

/// A restart of an actor.
struct restart_note {
  timestamp at;
  std::string reason;
  bool by_operator = false;
};

/// How many notes of restarts are kept of an actor.
inline constexpr size_t most_restart_notes = 10;

/// What the clock on the wall shows, or showed that long ago; to be shown only.
inline timestamp wall_clock(caf::timespan ago = caf::timespan{0}) {
  return std::chrono::floor<timestamp::duration>(
    std::chrono::system_clock::now() - ago);
}

/// How often an actor may still die before it is not started again.
struct budget_left {
  uint32_t deaths = 0;
  uint32_t of = 0;
  std::chrono::seconds window{0};
};

/// The run that a slot or its executor is at.
struct current_job {
  std::string id;
  std::string type;
  timestamp since;
};

/// What the db actor's transactions are like.
struct commit_figures {
  /// Writes in one transaction.
  distribution batch;
  /// Seconds until it was committed.
  distribution seconds;
  /// Requests that wait when a transaction begins, its own included.
  distribution queue;
};

/// An actor as `/api/actors` shows it. Figures are those of this instance,
/// since its start.
struct actor_report {
  std::string name;
  uint64_t id = 0;
  std::string parent;
  /// `running`, `idle`, `degraded`, `away`, `draining`, `unresponsive`, …
  std::string state;
  /// Messages and requests that wait.
  uint64_t mailbox = 0;
  /// Messages handled.
  uint64_t messages = 0;
  /// Of messages, in seconds; empty: not known.
  std::optional<distribution> wait;
  std::optional<distribution> handling;
  /// What it has done so far, by its own measure: `runs`, `reads`, …
  std::vector<std::pair<std::string_view, uint64_t>> counts;
  uint32_t restarts = 0;
  /// The newest ones, oldest first.
  std::vector<restart_note> restart_history;
  /// Empty: its parent has none for it.
  std::optional<budget_left> budget;
  std::string last_error;
  std::chrono::milliseconds uptime{0};
  std::optional<current_job> job;
  std::optional<commit_figures> commits;
  /// Of a provider gate.
  std::optional<lane_report> lane;
  /// Of its own; the supervisor makes them rows, too.
  std::vector<actor_report> children;
};

/// Asks for the right to make one call.
struct permit_request {
  std::string lane;
  uint64_t tokens = 0;
};

/// Yes, or how long there is no hope.
struct permit_answer {
  /// 0: no.
  uint64_t permit = 0;
  /// `throttled` or `provider_down` when it is no.
  run_outcome kind = run_outcome::provider_down;
  std::string reason;
  std::optional<std::chrono::milliseconds> delay;
};

/// Gives a permit back. A dead holder's permits come back by themselves.
struct permit_return {
  std::string lane;
  uint64_t permit = 0;
  /// Empty: nobody knows how the call went, if it was made.
  std::optional<call_report> how;
};

/// A text to be made an embedding, on a thread that may block.
struct embedding_request {
  std::string text;
  std::stop_source control;
};

/// A job type on this node and, as far as pauses go, on all nodes.
struct type_report {
  std::string type;
  bool paused = false;
  /// Why, and since when.
  std::string reason;
  std::optional<timestamp> paused_since;
  uint32_t running = 0;
  /// 0: as many as there are workers.
  uint32_t concurrency = 0;
  std::chrono::milliseconds timeout{0};
  uint32_t max_attempts = 0;
  /// The lanes it needs.
  std::vector<lane_report> lanes;
};

/// The first thing that keeps a job from running, for people and programs.
struct explanation {
  reeve::job job;
  /// `finished`, `running`, `due_later`, `type_paused`, `no_processor`,
  /// `lane_closed`, `limit_reached`, `queued`, `node_busy`, `claimable`, …
  std::string code;
  std::string text;
  /// When that changes by itself, if known.
  std::optional<timestamp> until;
  /// The job in the way, if it is one.
  std::optional<std::string> blocking_job;
  /// Due jobs before it.
  std::optional<int64_t> ahead;
};

// -- questions ----------------------------------------------------------------

struct steps_query {
  std::string job_id;
};

struct usage_query {
  timestamp from;
  timestamp to;
  usage_group by = usage_group::type;
};

struct errors_query {
  failure_filter filter;
  uint32_t limit = 50;
};

struct preview_query {
  failure_filter filter;
};

struct facts_query {
  std::string job_id;
};

struct pauses_query {};

struct summary_query {
  /// A summary's id, or a date (`YYYY-MM-DD`) of `user_id`.
  std::string id_or_date;
  std::optional<std::string> user_id;
};

struct cards_query {
  std::optional<std::string> user_id;
  timestamp from;
  timestamp to;
  uint32_t limit = 1'000;
};

/// Cards that are similar to a text.
struct recall_query {
  std::string text;
  std::optional<std::string> user_id;
  uint32_t limit = 10;
};

/// Cards from the newest on, without embeddings.
struct list_cards_query {
  /// Only cards made before the one with this id.
  std::optional<std::string> before_id;
  uint32_t limit = 50;
};

struct content_query {
  std::string id;
};

/// Books from the newest on.
struct list_contents_query {
  /// Only books made before the one with this id.
  std::optional<std::string> before_id;
  uint32_t limit = 50;
};

struct image_query {
  std::string content_id;
  int number = 0;
};

struct account_query {
  std::string user_id;
  uint32_t limit = 100;
};

struct types_query {};

struct lanes_query {};

struct explain_query {
  std::string job_id;
};

struct resume_lane {
  std::string name;
};

/// An operator wants an actor to be started anew.
struct restart_actor {
  std::string name;
  std::string reason;
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

using job_list = std::vector<job>;
using attempt_list = std::vector<attempt>;
using card_list = std::vector<knowledge_card>;
using card_hits = std::vector<card_hit>;
using content_list = std::vector<content>;
using step_list = std::vector<job_step>;
using usage_rows = std::vector<usage_row>;
using error_groups = std::vector<error_group>;
using type_states = std::vector<type_state>;
using embedding_answer = provider_answer<std::vector<float>>;
using type_reports = std::vector<type_report>;
using lane_reports = std::vector<lane_report>;

} // namespace reeve
