#include "tools/managerd/rest_server.h"

#include <microhttpd.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <utility>

#include "tools/managerd/client_certificate.h"
#include "tools/managerd/connection_acceptor.h"

namespace tributary::managerd {
namespace {

namespace kubernetes = manager::kubernetes;
using kubernetes::Answer;
using kubernetes::Failure;
using kubernetes::Request;

constexpr unsigned kSilenceSeconds = 60;
constexpr std::chrono::seconds kKeepAlive{5};

// A request as it comes in.
struct Incoming {
  Request request;
  std::optional<Failure> refusal;  // the body of a caller that may not ask is not kept
  bool too_large = false;
};

MHD_Result note_argument(void* query, MHD_ValueKind, const char* name, const char* value) {
  static_cast<Request*>(query)->query.insert_or_assign(name, value == nullptr ? "" : value);
  return MHD_YES;
}

MHD_Result queue(MHD_Connection* connection, unsigned status, MHD_Response* response,
                 const std::string& type) {
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type.c_str());
  const MHD_Result queued = MHD_queue_response(connection, status, response);
  MHD_destroy_response(response);
  return queued;
}

MHD_Result send(MHD_Connection* connection, const Answer& answer) {
  // The library only reads what it copies.
  return queue(
      connection, answer.status,
      MHD_create_response_from_buffer(answer.body.size(), const_cast<char*>(answer.body.data()),
                                      MHD_RESPMEM_MUST_COPY),
      answer.content_type);
}

// Lines of a watch that go out in pieces.
struct Stream {
  std::unique_ptr<kubernetes::Watch> watch;
  std::string rest;

  static ssize_t read(void* context, std::uint64_t, char* to, std::size_t most) {
    Stream& stream = *static_cast<Stream*>(context);
    if (stream.rest.empty()) {
      auto lines = stream.watch->next(kKeepAlive);
      if (!lines) return MHD_CONTENT_READER_END_OF_STREAM;
      // White space between two objects: a client that is gone is noticed by it.
      stream.rest = lines->empty() ? "\n" : std::move(*lines);
    }
    const std::size_t size = std::min(stream.rest.size(), most);
    std::memcpy(to, stream.rest.data(), size);
    stream.rest.erase(0, size);
    return static_cast<ssize_t>(size);
  }
  static void free(void* context) { delete static_cast<Stream*>(context); }
};

MHD_Result send(MHD_Connection* connection, std::unique_ptr<kubernetes::Watch> watch) {
  constexpr std::size_t kBlock = 16 << 10;
  auto stream = std::make_unique<Stream>(Stream{std::move(watch), {}});
  MHD_Response* const response = MHD_create_response_from_callback(
      MHD_SIZE_UNKNOWN, kBlock, Stream::read, stream.get(), Stream::free);
  if (response != nullptr) static_cast<void>(stream.release());  // the response frees it
  return queue(connection, MHD_HTTP_OK, response, "application/json");
}

// Throws Failure for callers that may not ask.
void require_operator(MHD_Connection* connection) {
  const auto* const info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
  if (info == nullptr) throw Failure(401, "Unauthorized", "the connection has no TLS session");
  const Caller caller = caller_of(static_cast<gnutls_session_int*>(info->tls_session));
  if (!caller.problem.empty()) throw Failure(401, "Unauthorized", caller.problem);
  if (!caller.identity.is_operator())
    throw Failure(403, "Forbidden",
                  "the certificate is of " + caller.identity.text() + "; allowed: an operator");
}

MHD_Result answer_whole(kubernetes::Api& api, MHD_Connection* connection, Incoming& incoming) {
  try {
    if (incoming.refusal) throw *incoming.refusal;
    if (incoming.too_large)
      throw Failure(
          413, "RequestEntityTooLarge",
          "the body has more than " + std::to_string(RestServer::kMostBodyBytes) + " bytes");
    auto reply = api.ask(incoming.request);
    if (auto* const watch = std::get_if<std::unique_ptr<kubernetes::Watch>>(&reply))
      return send(connection, std::move(*watch));
    return send(connection, std::get<Answer>(reply));
  } catch (const Failure& failure) {
    return send(connection, failure.answer());
  } catch (const std::exception&) {
    return MHD_NO;  // out of memory
  }
}

std::unique_ptr<Incoming> begun(MHD_Connection* connection, const char* path, const char* method) {
  auto incoming = std::make_unique<Incoming>();
  Request& request = incoming->request;
  request.method = method;
  request.path = path;
  const char* const accept =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
  if (accept != nullptr) request.accept = accept;
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, note_argument, &request);
  try {
    require_operator(connection);
  } catch (const Failure& failure) {
    incoming->refusal = failure;
  }
  return incoming;
}

struct Stop {
  void operator()(MHD_Daemon* daemon) const { MHD_stop_daemon(daemon); }
};

}  // namespace

struct RestServer::Inside {
  Inside(const std::string& listen, const manager::TlsFiles& tls, kubernetes::Api& answers)
      : ca(manager::read_pem("--tls-ca", tls.ca, "--kubernetes")),
        certificate(manager::read_pem("--tls-cert", tls.certificate, "--kubernetes")),
        key(manager::read_pem("--tls-key", tls.key, "--kubernetes")),
        api(answers),
        acceptor(listen) {}
  ~Inside() { acceptor.stop(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  // Called when the head of a request is there, for each part of its body, and at its end.
  static MHD_Result answer(void* inside, MHD_Connection* connection, const char* path,
                           const char* method, const char*, const char* part,
                           std::size_t* part_bytes, void** seen) {
    try {
      if (*seen == nullptr) {
        *seen = begun(connection, path, method).release();
        return MHD_YES;
      }
      Incoming& incoming = *static_cast<Incoming*>(*seen);
      if (*part_bytes == 0) {
        auto& self = *static_cast<Inside*>(inside);
        self.acceptor.asked(connection);
        return answer_whole(self.api, connection, incoming);
      }
      std::string& body = incoming.request.body;
      if (body.size() + *part_bytes > kMostBodyBytes) incoming.too_large = true;
      if (!incoming.too_large && !incoming.refusal) body.append(part, *part_bytes);
      *part_bytes = 0;
      return MHD_YES;
    } catch (const std::exception&) {
      return MHD_NO;
    }
  }
  static void note_answered(void* inside, MHD_Connection* connection, void** seen,
                            MHD_RequestTerminationCode) {
    delete static_cast<Incoming*>(std::exchange(*seen, nullptr));
    static_cast<Inside*>(inside)->acceptor.answered(connection);
  }
  static void note_connection(void* inside, MHD_Connection* connection, void**,
                              MHD_ConnectionNotificationCode what) {
    ConnectionAcceptor& acceptor = static_cast<Inside*>(inside)->acceptor;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) acceptor.started(connection);
    if (what == MHD_CONNECTION_NOTIFY_CLOSED) acceptor.closed(connection);
  }

  std::string ca;
  std::string certificate;
  std::string key;
  kubernetes::Api& api;
  ConnectionAcceptor acceptor;  // stops before the daemon, and is there until its end
  std::unique_ptr<MHD_Daemon, Stop> daemon;
};

RestServer::RestServer(const std::string& listen, const manager::TlsFiles& tls,
                       kubernetes::Api& api)
    : inside_(std::make_unique<Inside>(listen, tls, api)) {
  Inside& in = *inside_;
  constexpr unsigned kFlags = MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD |
                              MHD_USE_POLL | MHD_USE_ITC | MHD_USE_NO_LISTEN_SOCKET | MHD_USE_TLS;
  constexpr unsigned kNeverReached = 2 * ConnectionAcceptor::kMostThreads;
  in.daemon.reset(MHD_start_daemon(
      kFlags, 0, nullptr, nullptr, Inside::answer, &in, MHD_OPTION_HTTPS_MEM_KEY, in.key.c_str(),
      MHD_OPTION_HTTPS_MEM_CERT, in.certificate.c_str(), MHD_OPTION_HTTPS_MEM_TRUST, in.ca.c_str(),
      MHD_OPTION_CONNECTION_LIMIT, kNeverReached, MHD_OPTION_CONNECTION_TIMEOUT, kSilenceSeconds,
      MHD_OPTION_NOTIFY_CONNECTION, Inside::note_connection, &in, MHD_OPTION_NOTIFY_COMPLETED,
      Inside::note_answered, &in, MHD_OPTION_END));
  if (!in.daemon)
    throw std::runtime_error(listen + ": HTTPS does not start; is a file of --tls-* no PEM?");
  in.acceptor.start(in.daemon.get());
}

RestServer::~RestServer() = default;

int RestServer::port() const {
  return inside_->acceptor.port();
}

}  // namespace tributary::managerd
