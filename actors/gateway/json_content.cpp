// actors/gateway/json_content.cpp -- SAN's nouns and the books' as JSON.
#include "actors/gateway/json_values.hpp"

namespace reeve {

ordered_json to_json(const scrap& x) {
  return {
    {"id", x.id},
    {"title", or_null(x.title)},
    {"url", or_null(x.url)},
    {"content", x.content},
    {"user_id", or_null(x.user_id)},
    {"created_at", to_rfc3339(x.created_at)},
  };
}

ordered_json to_json(const knowledge_card& x) {
  return {
    {"id", x.id},
    {"scrap_id", x.scrap_id},
    {"job_id", x.job_id},
    {"user_id", or_null(x.user_id)},
    {"summary", x.summary},
    {"tags", x.tags},
    {"embedding_dimension", x.embedding.size()},
    {"embedding", x.embedding},
    {"model", x.model},
    {"created_at", to_rfc3339(x.created_at)},
  };
}

ordered_json to_json(const daily_summary& x) {
  return {
    {"id", x.id},
    {"date", x.date},
    {"time_zone", x.time_zone},
    {"day_start", to_rfc3339(x.day_start)},
    {"day_end", to_rfc3339(x.day_end)},
    {"user_id", or_null(x.user_id)},
    {"created_at", to_rfc3339(x.created_at)},
  };
}

ordered_json to_json(const til_entry& x) {
  return {
    {"id", x.id},           {"job_id", x.job_id},
    {"content", x.content}, {"card_ids", x.card_ids},
    {"model", x.model},     {"created_at", to_rfc3339(x.created_at)},
  };
}

ordered_json to_json(const recall_entry& x) {
  auto related = ordered_json::array();
  for (const auto& card : x.related)
    related.push_back(
      {{"card_id", card.card_id}, {"similarity", card.similarity}});
  return {
    {"id", x.id},           {"job_id", x.job_id},
    {"content", x.content}, {"related", std::move(related)},
    {"model", x.model},     {"created_at", to_rfc3339(x.created_at)},
  };
}

ordered_json without_embedding(const knowledge_card& x) {
  auto result = to_json(x);
  result.erase("embedding");
  result.erase("embedding_dimension");
  return result;
}

namespace {

ordered_json to_json(const page& x, const std::string& content_id) {
  ordered_json image = nullptr;
  if (x.image)
    image = {
      {"content_type", x.image->content_type},
      {"bytes", x.image->bytes},
      {"etag", etag_of(*x.image)},
      {"url",
       "/api/contents/" + content_id + "/pages/" + std::to_string(x.number)
         + "/image"},
      {"model", x.image->model},
      {"created_at", to_rfc3339(x.image->created_at)},
    };
  return {{"number", x.number}, {"text", x.text}, {"image", std::move(image)}};
}

} // namespace

ordered_json to_json(const summary_view& x) {
  auto result = to_json(x.what);
  auto cards = ordered_json::array();
  for (const auto& card : x.cards)
    cards.push_back(without_embedding(card));
  result["cards"] = std::move(cards);
  result["til"] = x.til ? to_json(*x.til) : ordered_json(nullptr);
  result["recall"] = x.recall ? to_json(*x.recall) : ordered_json(nullptr);
  return result;
}

ordered_json to_json(const card_hit& x) {
  auto result = without_embedding(x.card);
  result["similarity"] = x.similarity;
  return result;
}

ordered_json to_json(const content& x) {
  auto pages = ordered_json::array();
  for (const auto& member : x.pages)
    pages.push_back(to_json(member, x.id));
  return {
    {"id", x.id},
    {"job_id", x.job_id},
    {"user_id", or_null(x.user_id)},
    {"title", x.title},
    {"prompt", x.prompt},
    {"page_count", x.page_count},
    {"status", to_string(x.status)},
    {"progress",
     progress_json(x.status, x.progress_percent, x.progress_message)},
    {"error_message", or_null(x.error_message)},
    {"created_at", to_rfc3339(x.created_at)},
    {"pages", std::move(pages)},
  };
}

ordered_json to_json(const account& x) {
  auto entries = ordered_json::array();
  for (const auto& entry : x.entries)
    entries.push_back({
      {"kind", to_string(entry.kind)},
      {"amount", entry.amount},
      {"job_id", or_null(entry.job_id)},
      {"note", entry.note},
      {"created_at", to_rfc3339(entry.created_at)},
    });
  return {{"user_id", x.user_id},
          {"balance", x.balance},
          {"entries", std::move(entries)}};
}

std::string etag_of(const image_info& x) {
  return '"' + x.digest + '"';
}

} // namespace reeve
