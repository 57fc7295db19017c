// actors/recovery.cpp -- sweeps: at boot when asked, then by the clock.
#include "actors/recovery.hpp"

#include "config/log.hpp"

#include <utility>

namespace reeve {

recovery_state::recovery_state(recovery_actor::pointer self,
                               rescuer_actor rescuer, recovery_options options)
  : self_(self),
    rescuer_(std::move(rescuer)),
    options_(std::move(options)),
    metrics_(self->system()) {
  // nop
}

recovery_actor::behavior_type recovery_state::make_behavior() {
  arm();
  return {
    [this](status_atom) {
      actor_report result;
      result.state = sweeping_ ? "sweeping" : "idle";
      result.mailbox = self_->mailbox().size();
      result.counts = {{"sweeps", sweeps_}};
      result.last_error = last_error_;
      return result;
    },
    [this](sweep_atom) -> caf::result<uint32_t> {
      auto promise = self_->make_response_promise<uint32_t>();
      askers_.push_back(promise);
      if (!sweeping_)
        sweep();
      return promise;
    },
    [this](caf::tick_atom) {
      timed_ = true;
      if (!sweeping_)
        sweep();
    },
  };
}

void recovery_state::sweep() {
  sweeping_ = true;
  self_
    ->request(rescuer_, options_.store_timeout,
              rescue_write{options_.owner, options_.batch_size})
    .then(
      [this](const rescued& x) {
        returned_ += static_cast<uint32_t>(x.jobs.size());
        metrics_.rescued(x.jobs.size());
        for (const auto& job : x.jobs)
          log::info("recovery.job-returned",
                    {{"job", job.id},
                     {"type", job.type},
                     {"run", job.run},
                     {"status", to_string(job.status)},
                     log::optional("trace_id", job.trace.id())});
        if (x.more)
          sweep();
        else
          finish(returned_);
      },
      [this](caf::error& err) { finish(std::move(err)); });
}

void recovery_state::finish(caf::expected<uint32_t> result) {
  ++sweeps_;
  sweeping_ = false;
  returned_ = 0;
  last_error_ = result ? std::string{} : to_string(result.error());
  for (auto& asker : std::exchange(askers_, {})) {
    if (result)
      asker.deliver(*result);
    else
      asker.deliver(result.error());
  }
  if (std::exchange(timed_, false))
    arm();
}

void recovery_state::arm() {
  self_->delayed_send(self_, options_.interval, caf::tick_atom_v);
}

} // namespace reeve
