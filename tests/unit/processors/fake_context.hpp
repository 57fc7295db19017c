// tests/unit/processors/fake_context.hpp -- the node as a processor sees it, in
// memory: steps and effects stay from run to run.
#pragma once

#include "processors/ai/image_model.hpp"
#include "processors/ai/text_model.hpp"
#include "processors/processor.hpp"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace reeve::test {

/// The node died: nothing a processor may catch.
struct killed {};

/// Runs one job again and again, as nodes would.
class fake_context final : public job_context {
public:
  using report = std::pair<int, std::string>;

  struct stored_step {
    job_step step;
    std::vector<effect> effects;
  };

  /// A job of this type and target; of `user-1`.
  fake_context(std::string type, std::string target_id);

  /// Runs the job once more: `run` and `attempts` grow. What ends a run early
  /// is its outcome; `killed` passes through.
  outcome run(processor& how);

  /// As `run`; the node dies right after the commit of the step that is number
  /// `step` in this run, from 1.
  void run_and_die_after(processor& how, size_t step);

  // -- what a processor asks for ----------------------------------------------

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

  // -- what the test sees and sets --------------------------------------------

  job job_;
  std::stop_source source;
  /// By id.
  std::map<std::string, scrap> scraps;
  std::map<std::string, content> contents;
  std::vector<daily_summary> summaries;
  std::vector<knowledge_card> cards;
  /// Every look-up, e.g. `scrap scrap-1`.
  std::vector<std::string> look_ups;
  std::function<void()> on_look_up;
  /// Called before a step is committed; may throw.
  std::function<void(const job_step&)> before_commit;

  std::vector<stored_step> steps;
  /// Pictures by page, as the store would have them.
  std::map<int, page_image> images;
  std::vector<report> reports;
  std::function<void(int, const std::string&)> on_progress;
  /// The lanes and tokens that were asked for, in order.
  std::vector<std::pair<std::string, uint64_t>> acquired;
  std::vector<call_report> calls;
  int open_permits = 0;
  /// Ends the run instead of giving a permit.
  std::optional<outcome> lane_closed;

  /// The names of the stored steps.
  std::vector<std::string> step_names() const;

private:
  std::optional<nlohmann::json> find_step(
    const std::string& name, const std::string& input_hash) override;
  void store_step(job_step step, std::vector<effect> effects) override;
  void look_up(const std::string& what);
  void end_if_stopped() const;
  void apply(const effect& x);

  size_t commits_in_run_ = 0;
  size_t die_after_ = 0;
};

/// Writes what it is told to, in pieces of seven bytes.
class fake_text_model final : public text_model {
public:
  lane_key lane() const override;
  provider_answer<std::string> write(
    const text_request& request,
    const std::function<void(std::string_view)>& on_text,
    call_scope scope) override;

  /// What it writes, or how it fails.
  std::function<std::variant<std::string, provider_failure>(const text_request&,
                                                            std::stop_token)>
    says;
  /// Instead of an outside lane.
  lane_key key{"prose", "prose-1"};
  std::vector<text_request> requests;
  /// Of each call.
  std::vector<trace_context> traces;
};

/// Draws a different picture with every call.
class fake_image_model final : public image_model {
public:
  lane_key lane() const override;
  provider_answer<image> draw(const image_request& request,
                              call_scope scope) override;

  /// Instead of drawing; a failure or a picture.
  std::function<std::variant<image, provider_failure>(const image_request&)>
    says;
  lane_key key{"brush", "brush-1"};
  std::vector<image_request> requests;
};

} // namespace reeve::test
