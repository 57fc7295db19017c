// actors/gateway/job_json.hpp -- a job's JSON as text: it is what most answers
// and all events are made of.
#pragma once

#include "actors/interfaces.hpp"
#include "net/http.hpp"
#include "net/json_writer.hpp"

#include <string>

namespace reeve {

/// Appends the job as the API documents it: the text of `to_json`, but for
/// payload and result, which are passed on as the store spells them (members'
/// order, spaces, and numbers such as 1e400 that few programs can read).
void write_json(std::string& out, const job& x);

/// The same, as a value of something larger.
void write_json(net::json_writer& out, const job& x);

std::string json_of(const job& x);

/// The members of the job's object, for one that has others behind them.
void write_members(net::json_writer& out, const job& x);

/// A JSON response from text that is JSON.
net::http_response json_text_response(int status, std::string body);

} // namespace reeve
