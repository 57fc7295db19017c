// persistence/books.cpp -- the one spelling of why a balance changes.
#include "persistence/books.hpp"

namespace reeve {

std::string_view to_string(ledger_kind x) {
  switch (x) {
    case ledger_kind::grant:
      return "grant";
    case ledger_kind::charge:
      return "charge";
    case ledger_kind::refund:
      return "refund";
  }
  return "?";
}

std::optional<ledger_kind> ledger_kind_from(std::string_view text) {
  for (auto x : {ledger_kind::grant, ledger_kind::charge, ledger_kind::refund})
    if (to_string(x) == text)
      return x;
  return std::nullopt;
}

} // namespace reeve
