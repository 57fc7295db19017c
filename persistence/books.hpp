// persistence/books.hpp -- the nouns of picture books, and who pays for them.
#pragma once

#include "persistence/job.hpp"

#include <memory>

namespace reeve {

/// A page's picture without its bytes.
struct image_info {
  std::string content_type;
  size_t bytes = 0;
  /// SHA-256 of the bytes in lower-case hexadecimal digits.
  std::string digest;
  std::string model;
  timestamp created_at;
};

struct page {
  /// From 1.
  int number = 0;
  std::string text;
  std::optional<image_info> image;
};

/// A picture book; the target of BOOK_GENERATION and IMAGE_REGEN.
struct content {
  std::string id;
  /// The job that makes it; its status is the book's.
  std::string job_id;
  std::optional<std::string> user_id;
  std::string title;
  std::string prompt;
  int page_count = 0;
  timestamp created_at;

  // -- filled in by reads -----------------------------------------------------

  job_status status = job_status::pending;
  int progress_percent = 0;
  std::string progress_message;
  std::optional<std::string> error_message;
  std::vector<page> pages;
};

/// The texts of all pages of a book, in order; stored once its text is there.
struct book_pages {
  std::string content_id;
  std::vector<std::string> texts;
};

/// A page's picture. A newer one takes the older one's place.
struct page_image {
  std::string content_id;
  /// From 1.
  int number = 0;
  image_info info;
  std::shared_ptr<const std::string> data;
};

/// Why a balance changed.
enum class ledger_kind : uint8_t {
  grant,
  /// Taken in advance when a paid job is enqueued (or retried).
  charge,
  /// Given back when a paid job ends as FAILED or CANCELLED.
  refund,
};

std::string_view to_string(ledger_kind x);
std::optional<ledger_kind> ledger_kind_from(std::string_view text);

/// One line of the ledger, which is only ever added to. A balance is the sum
/// of its lines.
struct ledger_entry {
  int64_t seq = 0;
  std::string user_id;
  ledger_kind kind = ledger_kind::grant;
  /// In tokens; negative for charges.
  int64_t amount = 0;
  std::optional<std::string> job_id;
  std::string note;
  timestamp created_at;
};

struct account {
  std::string user_id;
  int64_t balance = 0;
  /// Newest first.
  std::vector<ledger_entry> entries;
};

} // namespace reeve
