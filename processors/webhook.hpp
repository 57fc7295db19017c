// processors/webhook.hpp -- a job type whose work is a service's: the job is
// POSTed to a URL.
#pragma once

#include "processors/processor.hpp"

#include <chrono>
#include <string>

namespace reeve {

struct webhook_options {
  /// http or https.
  std::string url;
  /// Signs the requests: `whsec_` and base64, or any text; empty: they are not
  /// signed.
  std::string secret;
  /// From the first byte sent to the last one of the answer, redirects
  /// included.
  std::chrono::milliseconds timeout{60'000};
  std::chrono::milliseconds connect_timeout{10'000};
  /// A longer answer fails the job for good.
  size_t max_response_bytes = 1024 * 1024;
  /// May call addresses that are not public (loopback, private networks).
  bool allow_private = false;
};

/// POSTs `{"id", "type", "target_id", "user_id", "payload", "attempt", "run"}`
/// with the headers `Reeve-Job-Id`, `Reeve-Attempt`, `Idempotency-Key` (the
/// job's id, the same for each retry) and those of Standard Webhooks
/// (`webhook-id`, `webhook-timestamp`, `webhook-signature`).
///
/// A 2xx answer completes the job: JSON is the result, any other UTF-8 text is
/// `{"body": text}`, other bytes are `{"bytes": count}`, nothing is null. 429,
/// and 503 with Retry-After, are `throttled`. A service that is not there, cuts
/// its answer off, or lets a gateway say so (502, 503, 504) is `provider_down`.
/// 408, 425, other 5xx and no answer in time are `failed`: the job itself may
/// be why. Retry-After is the least delay of all of these. Every other answer
/// fails the job for good, as do redirects but for 307 and 308 to the same
/// scheme, host and port (three at most), and addresses that are not public
/// unless they are allowed.
class webhook final : public processor {
public:
  /// Throws `std::invalid_argument` for a URL that is not http or https with a
  /// host, and for a secret that is no secret.
  explicit webhook(webhook_options options);

  outcome run(job_context& context) override;

private:
  webhook_options options_;
  std::string key_;
};

} // namespace reeve
