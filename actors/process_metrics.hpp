// actors/process_metrics.hpp -- what Prometheus' clients say of their process.
#pragma once

#include "actors/exposition.hpp"

namespace reeve {

/// The standard `process_*` metrics. What /proc does not tell is left out.
void add_process_metrics(exposition& out);

} // namespace reeve
