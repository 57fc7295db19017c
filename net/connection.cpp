// net/connection.cpp -- one client's HTTP/1.1 conversation, without a socket.
#include "net/connection.hpp"

#include "net/body_reader.hpp"
#include "net/problem.hpp"
#include "net/request_head.hpp"
#include "net/response_writer.hpp"

#include <stdexcept>
#include <utility>

namespace reeve::net {

namespace {

// Of pipelined requests; enough for a client that is a little ahead.
constexpr size_t max_waiting_bytes = 64 * 1024;

constexpr size_t usual_head_bytes = 512;

// A buffer larger than this is given back once it is empty.
constexpr size_t max_idle_bytes = 4 * 1024;

enum class phase {
  head,      // between requests, or a head is incomplete
  body,      // a body is incomplete
  ready,     // complete, `next_request` was not called yet
  busy,      // handed out
  streaming, // handed out, the answer's head is sent
  closed,    // what is in the output is the last
};

} // namespace

struct connection::state {
  state(connection_limits l, clock::time_point now)
    : limits(l), scanner(limits), since(now) {
    // nop
  }

  void advance();
  void read_head();
  void start_request(request_head head);
  void read_body();
  void complete();
  void refuse(const refusal& why);
  void send(const http_response& response);
  void close();
  std::string_view waiting() const;
  void drop_input(size_t n);
  void discard_input();
  void require(phase wanted, const char* what) const;

  connection_limits limits;
  phase at = phase::head;
  std::string input;
  size_t consumed = 0; // of `input`
  std::string output;
  head_scanner scanner;
  std::optional<body_reader> body;
  std::optional<http_request> request;
  bool is_head = false;
  bool refused = false;
  bool is_http_10 = false;
  bool keep_alive = true;
  bool draining = false;
  bool started = false;    // the first byte of a request is here
  clock::time_point since; // of the request's first byte, or of idleness
};

// Runs until bytes are lacking or a request is complete. What is pipelined
// behind a request stays unread until that one is answered, so that errors in
// it are answered in their turn.
void connection::state::advance() {
  if (at == phase::head)
    read_head();
  if (at == phase::body)
    read_body();
}

void connection::state::read_head() {
  if (auto err = scanner.scan(waiting()))
    return refuse(*err);
  auto size = scanner.size();
  if (!size)
    return;
  auto raw = waiting().substr(scanner.start(), *size - scanner.start());
  // Needed for the answer even when the rest of the head is refused.
  is_head = raw.substr(0, 5) == "HEAD ";
  auto line_end = raw.find("\r\n");
  is_http_10 = raw.substr(line_end - 3, 3) == "1.0";
  auto parsed = parse_head(raw, limits);
  drop_input(*size);
  scanner = head_scanner{limits};
  if (auto* err = std::get_if<refusal>(&parsed))
    return refuse(*err);
  start_request(std::move(std::get<request_head>(parsed)));
}

void connection::state::start_request(request_head head) {
  keep_alive = head.keep_alive;
  request = std::move(head.request);
  if (head.chunked)
    body.emplace(limits.body_bytes, limits.header_bytes);
  else
    body.emplace(head.content_length);
  // Not when the client went ahead already: RFC 9110, section 10.1.1.
  if (head.expects_continue && !body->done() && waiting().empty())
    output += "HTTP/1.1 100 Continue\r\n\r\n";
  at = phase::body;
}

void connection::state::read_body() {
  auto rest = waiting();
  auto err = body->read(rest, request->body);
  drop_input(waiting().size() - rest.size());
  if (err)
    return refuse(*err);
  if (body->done())
    complete();
}

void connection::state::complete() {
  body.reset();
  started = false;
  at = phase::ready;
}

void connection::state::refuse(const refusal& why) {
  keep_alive = false;
  refused = true;
  send(problem(why.status, why.code, why.detail));
}

// Sends a whole response and makes room for the next request.
void connection::state::send(const http_response& response) {
  if (!is_sendable(response)) {
    keep_alive = false;
    return send(problem(500, "internal_error", "the answer was malformed"));
  }
  keep_alive = keep_alive && !draining;
  framing how{std::nullopt, "", std::time(nullptr)};
  if (has_body(response.status))
    how.content_length = response.body.size();
  if (!keep_alive)
    how.connection = "close";
  else if (is_http_10)
    how.connection = "keep-alive";
  // One piece of memory for the answer; heads are shorter than this.
  output.reserve(output.size() + usual_head_bytes + response.body.size());
  append_head(output, response, how);
  if (how.content_length && !is_head)
    output += response.body;
  if (!keep_alive)
    return close();
  request.reset();
  is_head = false;
  at = phase::head;
}

void connection::state::close() {
  at = phase::closed;
  body.reset();
  request.reset();
  discard_input();
}

std::string_view connection::state::waiting() const {
  return std::string_view{input}.substr(consumed);
}

// Moves the rest to the front only when that frees half of the buffer: many
// small pipelined requests would take quadratic time otherwise.
void connection::state::drop_input(size_t n) {
  consumed += n;
  if (consumed == input.size() && input.capacity() > max_idle_bytes)
    input = {};
  else if (consumed >= input.size() - consumed)
    input.erase(0, consumed);
  else
    return;
  consumed = 0;
}

void connection::state::discard_input() {
  input = {};
  consumed = 0;
}

void connection::state::require(phase wanted, const char* what) const {
  if (at != wanted)
    throw std::logic_error(what);
}

connection::connection(connection_limits limits, clock::time_point now)
  : state_(std::make_unique<state>(limits, now)) {
  // nop
}

connection::~connection() = default;

void connection::receive(std::string_view bytes, clock::time_point now) {
  auto& self = *state_;
  // Nothing runs behind the last request, so it is not kept either.
  auto last = self.at == phase::closed || self.at == phase::streaming
    || (self.at == phase::busy && !self.keep_alive);
  if (bytes.empty() || last)
    return;
  self.input.append(bytes);
  if (self.at == phase::head && !self.started) {
    self.started = true;
    self.since = now;
  }
  self.advance();
}

std::optional<http_request> connection::next_request(clock::time_point) {
  auto& self = *state_;
  if (self.at != phase::ready)
    return std::nullopt;
  self.at = phase::busy;
  if (!self.keep_alive)
    self.discard_input();
  auto result = std::move(self.request);
  self.request.reset();
  return result;
}

void connection::respond(const http_response& response, clock::time_point now) {
  auto& self = *state_;
  self.require(phase::busy, "respond without a request to answer");
  self.send(response);
  if (self.at != phase::head)
    return;
  self.since = now;
  self.started = !self.waiting().empty();
  self.advance();
}

void connection::begin_stream(const http_response& head) {
  auto& self = *state_;
  self.require(phase::busy, "begin_stream without a request to answer");
  self.keep_alive = false;
  if (!is_sendable(head) || !has_body(head.status))
    return self.send(head);
  append_head(self.output, head, {std::nullopt, "close", std::time(nullptr)});
  self.discard_input();
  self.at = phase::streaming;
  if (self.is_head)
    self.close();
}

void connection::stream(std::string_view bytes) {
  if (state_->at == phase::streaming)
    state_->output.append(bytes);
}

void connection::end_stream() {
  if (state_->at == phase::streaming)
    state_->close();
}

void connection::close_after_response() {
  auto& self = *state_;
  self.draining = true;
  if (self.at == phase::head && !self.started)
    self.close();
}

std::string connection::take_output() {
  return std::exchange(state_->output, {});
}

bool connection::finished() const {
  return state_->at == phase::closed && state_->output.empty();
}

bool connection::refused() const {
  return state_->refused;
}

bool connection::wants_input() const {
  return state_->waiting().size() <= max_waiting_bytes
    || state_->at == phase::head || state_->at == phase::body;
}

bool connection::busy() const {
  return state_->at == phase::busy || state_->at == phase::streaming;
}

std::optional<connection::clock::time_point> connection::deadline() const {
  const auto& self = *state_;
  if (self.at != phase::head && self.at != phase::body)
    return std::nullopt;
  return self.since
    + (self.started ? self.limits.request_timeout : self.limits.idle_timeout);
}

void connection::on_deadline(clock::time_point now) {
  auto& self = *state_;
  auto due = deadline();
  if (!due || now < *due)
    return;
  if (!self.started)
    return self.close();
  self.refuse({408, "request_timeout",
               "the request was not complete in "
                 + std::to_string(self.limits.request_timeout.count())
                 + " ms"});
}

} // namespace reeve::net
