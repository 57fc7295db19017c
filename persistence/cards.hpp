// persistence/cards.hpp -- the nouns of SAN: scraps, the cards made of them,
// and what is made of a day's cards.
#pragma once

#include "persistence/job.hpp"

namespace reeve {

/// A text that a user keeps; the target of CARD_ANALYSIS.
struct scrap {
  std::string id;
  std::string content;
  std::optional<std::string> title;
  std::optional<std::string> url;
  std::optional<std::string> user_id;
  timestamp created_at;
};

/// What CARD_ANALYSIS makes of a scrap.
struct knowledge_card {
  std::string id;
  /// Soft reference: the scrap may be gone by now.
  std::string scrap_id;
  /// Unique: a job stores one card, however often it runs.
  std::string job_id;
  std::optional<std::string> user_id;
  std::string summary;
  std::vector<std::string> tags;
  std::vector<float> embedding;
  /// Which provider and model made it, e.g. `local`.
  std::string model;
  timestamp created_at;
};

/// A day of one user's cards; the target of TIL_GENERATION and
/// RECALL_GENERATION. Which cards belong to it follows from its instants.
struct daily_summary {
  std::string id;
  std::optional<std::string> user_id;
  /// `YYYY-MM-DD` in `time_zone`.
  std::string date;
  /// An IANA name, e.g. `Asia/Seoul`.
  std::string time_zone;
  /// The first instant of the day, and of the next one.
  timestamp day_start;
  timestamp day_end;
  timestamp created_at;
};

/// "Today I learned": a text about a day's cards. A summary shows its newest.
struct til_entry {
  std::string id;
  /// Soft reference.
  std::string daily_summary_id;
  /// Unique.
  std::string job_id;
  std::optional<std::string> user_id;
  std::string content;
  std::vector<std::string> card_ids;
  std::string model;
  timestamp created_at;
};

/// An older card that fits, and how well: the cosine of the angle between the
/// embeddings, -1 to 1.
struct related_card {
  std::string card_id;
  double similarity = 0;
};

/// A text that brings older cards back that fit a day's cards.
struct recall_entry {
  std::string id;
  /// Soft reference.
  std::string daily_summary_id;
  /// Unique.
  std::string job_id;
  std::optional<std::string> user_id;
  std::string content;
  /// Most similar first.
  std::vector<related_card> related;
  std::string model;
  timestamp created_at;
};

/// A summary with everything that belongs to it.
struct summary_view {
  daily_summary what;
  /// The day's cards, oldest first; without embeddings.
  std::vector<knowledge_card> cards;
  std::optional<til_entry> til;
  std::optional<recall_entry> recall;
};

/// A card found by similarity. The embedding is left out.
struct card_hit {
  knowledge_card card;
  double similarity = 0;
};

} // namespace reeve
