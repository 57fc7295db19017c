// actors/interfaces.hpp -- every actor interface: the map of the node.
#pragma once

#include "actors/messages.hpp"
#include "actors/type_ids.hpp"

namespace reeve {

// -- interfaces ---------------------------------------------------------------

/// What every long-lived actor answers; its mailbox depth is its own view.
using inspectable_actor = caf::typed_actor<
  // Never fails; the supervisor fills in name, parent, restarts and what the
  // actor's meter says.
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
  // What a job has done for good, oldest first. Fails with `not_found`.
  caf::result<step_list>(steps_query),
  // What providers were paid for, largest use first.
  caf::result<usage_rows>(usage_query),
  // Failures by what they have in common, newest first.
  caf::result<error_groups>(errors_query),
  // What a bulk retry would find.
  caf::result<failure_preview>(preview_query),
  // What the database knows of why a job waits. Fails with `not_found`.
  caf::result<queue_facts>(facts_query),
  // Types that were paused at some time.
  caf::result<type_states>(pauses_query),
  // Fails with `not_found`.
  caf::result<summary_view>(summary_query),
  // One user's cards in a span of time, with embeddings.
  caf::result<card_list>(cards_query),
  // A page of all cards, newest first.
  caf::result<card_list>(list_cards_query),
  // A page of all books, newest first.
  caf::result<content_list>(list_contents_query),
  // A book with its pages. Fails with `not_found`.
  caf::result<content>(content_query),
  // A page's picture. Fails with `not_found`.
  caf::result<page_image>(image_query), caf::result<account>(account_query),
  // Does the database answer? The supervisor also fails with
  // `shutting_down`.
  caf::result<void>(ready_atom)>;

/// Searches by similarity, which take longer than reads may.
using searcher_actor = caf::typed_actor<
  // Cards similar to an embedding. Fails with `store_unavailable`.
  caf::result<card_hits>(card_search)>;

/// Writes that clients ask for; answered after the commit. All fail with
/// `store_unavailable` (nothing was written), `outcome_unknown` and
/// `invalid_argument`.
using writer_actor = caf::typed_actor<
  // Fails with `key_reused` and `insufficient_funds`.
  caf::result<enqueued>(enqueue_write),
  // All or none.
  caf::result<enqueued_batch>(enqueue_batch_write),
  // Fails with `not_found` and `conflict`.
  caf::result<changed>(cancel_write),
  // Fails with `not_found`, `conflict` and `insufficient_funds`.
  caf::result<changed>(retry_write),
  // A page of a bulk retry.
  caf::result<bulk_retried>(bulk_retry_write),
  // Pauses or resumes a type on all nodes.
  caf::result<done>(pause_write), caf::result<stored_summary>(summary_write),
  // Fails with `not_found`.
  caf::result<done>(delete_scrap_write),
  // How far a run is. Fails with `lease_lost`.
  caf::result<changed>(progress_write)>;

/// The DB ACTOR: does all writes but for the claims of CLAIMER. Queues what
/// comes and commits it in groups.
/// The flag says that an earlier try may have been committed.
using db_actor = writer_actor::extend_with<inspectable_actor>::extend<
  caf::result<claimed>(claim_write, bool),
  // Waits for the next write, which is on its way, to share its transaction.
  caf::result<claimed>(caf::join_atom, claim_write),
  // Waits for a claim that is on its way, to share its transaction.
  caf::result<enqueued>(caf::join_atom, enqueue_write),
  // Each end for itself.
  caf::result<settled>(settle_list, bool),
  // What a run has done for good. Fails with `lease_lost` and `not_found`.
  caf::result<changed>(step_write, bool), caf::result<renewed>(heartbeat_write),
  caf::result<rescued>(rescue_write), caf::result<pruned>(prune_write),
  // Other nodes may find work now; tells them, but not too often.
  caf::result<void>(announce_atom),
  // INTERNAL: everything that was queued by now goes into one transaction.
  caf::result<void>(flush_atom),
  // INTERNAL: the same, unless it has been since: the number counts commits.
  caf::result<void>(flush_atom, uint64_t),
  // INTERNAL: try to reach the database again.
  caf::result<void>(reconnect_atom)>;

/// The CLAIMER: makes claims of many jobs, which have nothing to do with what
/// else is written, on a connection of its own.
using claimer_actor = inspectable_actor::extend<
  // Fails with `store_unavailable`, when it is not known whether jobs were
  // claimed, and with `invalid_argument`.
  caf::result<unread_claim_ptr>(claim_write)>;

/// The QUERY ACTOR: every read, on a connection of its own.
using query_actor = reader_actor::extend_with<inspectable_actor>;

/// The RECALL actor: similarity search, on a connection of its own.
using recall_actor = searcher_actor::extend_with<inspectable_actor>;

/// The EMBEDDER: makes questions embeddings, and has RECALL search for them.
using embedder_actor = inspectable_actor::extend<
  // Cards similar to a text. Fails with `provider_unavailable` (also at once,
  // when many wait) and `store_unavailable`.
  caf::result<card_hits>(recall_query)>;

/// The thread that an embedder's calls block.
using embedding_caller_actor = caf::typed_actor<
  // Never fails: failures are values.
  caf::result<embedding_answer>(embedding_request)>;

/// A PROVIDER GATE: who may call one provider's model, and when.
using provider_gate_actor = inspectable_actor::extend<
  // Answered when it is the caller's turn, or when there is no hope for long.
  // Monitors the caller.
  caf::result<permit_answer>(permit_request), caf::result<void>(permit_return),
  // Opens a paused lane.
  caf::result<done>(resume_lane), caf::result<lane_report>(lanes_query),
  // INTERNAL: a time has come.
  caf::result<void>(caf::tick_atom)>;

/// Who hears of a gate's changes.
using lane_watcher_actor = caf::typed_actor<caf::result<void>(lane_report)>;

/// What an executor asks of the node for its run.
using run_services_actor = reader_actor::extend_with<searcher_actor>::extend<
  caf::result<changed>(step_write, bool),
  // Fails with `not_found` for a lane this node does not have.
  caf::result<permit_answer>(permit_request),
  // Answered when the lane has learned from it.
  caf::result<void>(permit_return)>;

/// The EVENT HUB: fans committed changes out to watchers.
using event_hub_actor =
  inspectable_actor::extend<caf::result<void>(committed_changes),
                            // Subscribes until the watcher dies.
                            caf::result<watch_started>(watch_atom, watch_filter,
                                                       watcher_actor)>;

/// The EXECUTOR: a thread that runs processors, one at a time.
using executor_actor = caf::typed_actor<
  // Does the runs; the job actor hears of their ends by `run_news`.
  caf::result<void>(run_atom, run_bundle_ptr)>;

/// A JOB ACTOR: one slot. Always responsive: the work is in its executor.
using job_actor = inspectable_actor::extend<
  // Does the runs, one after the other; their ends go to the supervisor as
  // `run_reports`.
  caf::result<void>(run_atom, run_bundle_ptr),
  // Stops the run of a job (`seq`, `run`) early: cancelled or lease lost.
  caf::result<void>(interrupt_atom, int64_t, int64_t),
  // From the executor.
  caf::result<void>(run_news),
  // From the executor.
  caf::result<void>(run_progress),
  // INTERNAL: a time has come; the number tells the timer that counts.
  caf::result<void>(timeout_atom, uint64_t),
  // INTERNAL: writes the newest progress of the n-th run that reports any.
  caf::result<void>(flush_atom, uint64_t)>;

/// The RECOVERY actor: returns jobs whose node died.
using recovery_actor = inspectable_actor::extend<
  // Sweeps until nothing stale is left; how many jobs were returned.
  caf::result<uint32_t>(sweep_atom),
  // INTERNAL: timer loop.
  caf::result<void>(caf::tick_atom)>;

/// The JANITOR: deletes jobs that ended long ago.
using janitor_actor = inspectable_actor::extend<
  // INTERNAL: timer loop.
  caf::result<void>(caf::tick_atom),
  // INTERNAL: the next page of the sweep under way.
  caf::result<void>(sweep_atom)>;

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
using supervisor_actor = run_services_actor::extend_with<writer_actor>::extend<
  // Starts everything, in order; answers with the port once the node serves.
  caf::result<uint16_t>(boot_atom),
  // Takes no new work, waits for running jobs, then ends.
  caf::result<drain_report>(drain_atom),
  // From the db actor.
  caf::result<void>(committed_changes),
  // From recovery: stale jobs go back.
  caf::result<rescued>(rescue_write),
  // From the janitor: old jobs go.
  caf::result<pruned>(prune_write),
  // From a job actor.
  caf::result<void>(run_reports),
  // There may be work.
  caf::result<void>(wake_atom),
  // Forwarded to the embedder.
  caf::result<card_hits>(recall_query),
  // Forwarded to the event hub.
  caf::result<watch_started>(watch_atom, watch_filter, watcher_actor),
  // All job types of this node. Fails with `store_unavailable`.
  caf::result<type_reports>(types_query),
  // All lanes of this node.
  caf::result<lane_reports>(lanes_query),
  // Opens a paused lane. Fails with `not_found`.
  caf::result<done>(resume_lane),
  // Starts an actor anew; the answer is what the tree shows of it then. Its
  // runs go back unspent. Fails with `not_found`, `conflict` (with a text for
  // the operator) and `shutting_down`.
  caf::result<actor_report>(restart_actor),
  // Why a job does not run. Fails with `not_found`.
  caf::result<explanation>(explain_query),
  // From a gate.
  caf::result<void>(lane_report),
  // The supervision tree; silent actors are `unresponsive`.
  caf::result<tree_report>(tree_atom),
  // INTERNAL: renews this node's leases.
  caf::result<void>(caf::tick_atom),
  // INTERNAL: the grace of running jobs is over.
  caf::result<void>(interrupt_atom),
  // INTERNAL: starts a child again after its backoff.
  caf::result<void>(restart_atom, std::string)>;

} // namespace reeve
