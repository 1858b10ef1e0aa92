#include "control/metrics/http_server.h"

#include <microhttpd.h>

#include <stdexcept>
#include <string_view>
#include <utility>

#include "control/metrics/listening_socket.h"

namespace tributary::control {
namespace {

// A scraper has one, or two while it starts anew; the rest are probes, and peers that say nothing.
constexpr unsigned kMostConnections = 256;
constexpr unsigned kMostFromOneAddress = 128;
constexpr unsigned kSilenceSeconds = 5;

MHD_Result send_page(MHD_Connection* connection, const HttpPage& page) {
  // The library only reads what it copies.
  MHD_Response* const response = MHD_create_response_from_buffer(
      page.body.size(), const_cast<char*>(page.body.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, page.content_type.c_str());
  if (page.status == MHD_HTTP_METHOD_NOT_ALLOWED)
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  const MHD_Result queued = MHD_queue_response(connection, page.status, response);
  MHD_destroy_response(response);
  return queued;
}

MHD_Result note_argument(void* query, MHD_ValueKind, const char* name, const char* value) {
  static_cast<HttpQuery*>(query)->insert_or_assign(name, value == nullptr ? "" : value);
  return MHD_YES;
}

HttpQuery query_of(MHD_Connection* connection) {
  HttpQuery query;
  MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, note_argument, &query);
  return query;
}

HttpPage plain(unsigned status, std::string text) {
  return {status, "text/plain; charset=utf-8", std::move(text)};
}

HttpPage page_of(const HttpServer::Pages& pages, const std::string& path, const HttpQuery& query) {
  const auto page = pages.find(path);
  if (page == pages.end()) {
    std::string text = "not here; there are:";
    for (const auto& [known, make] : pages) text += ' ' + known;
    return plain(MHD_HTTP_NOT_FOUND, text + '\n');
  }
  try {
    return page->second(query);
  } catch (const std::invalid_argument& error) {
    return plain(MHD_HTTP_BAD_REQUEST, error.what());
  } catch (const std::exception& error) {
    return plain(MHD_HTTP_INTERNAL_SERVER_ERROR, error.what());
  }
}

// Called when the head of a request is there, and again for each part of its body.
MHD_Result answer(void* context, MHD_Connection* connection, const char* path, const char* method,
                  const char*, const char*, std::size_t* body_bytes, void** seen) {
  if (*body_bytes != 0) {
    *body_bytes = 0;
    return MHD_YES;
  }
  static char begun;
  if (*seen == nullptr) {
    *seen = &begun;
    return MHD_YES;
  }
  const auto& pages = *static_cast<const HttpServer::Pages*>(context);
  const std::string_view asked = method;
  if (asked != MHD_HTTP_METHOD_GET && asked != MHD_HTTP_METHOD_HEAD)
    return send_page(connection, plain(MHD_HTTP_METHOD_NOT_ALLOWED, "allowed: GET, HEAD\n"));
  return send_page(connection, page_of(pages, path, query_of(connection)));
}

}  // namespace

void HttpServer::Stop::operator()(MHD_Daemon* daemon) const {
  MHD_stop_daemon(daemon);
}

HttpServer::~HttpServer() = default;

HttpServer::HttpServer(const std::string& listen, Pages pages) : pages_(std::move(pages)) {
  ListeningSocket socket(listen);
  port_ = socket.port();
  daemon_.reset(MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD | MHD_USE_ITC, 0, nullptr, nullptr,
                                 answer, const_cast<Pages*>(&pages_), MHD_OPTION_LISTEN_SOCKET,
                                 socket.get(), MHD_OPTION_CONNECTION_LIMIT, kMostConnections,
                                 MHD_OPTION_PER_IP_CONNECTION_LIMIT, kMostFromOneAddress,
                                 MHD_OPTION_CONNECTION_TIMEOUT, kSilenceSeconds, MHD_OPTION_END));
  if (!daemon_) throw std::runtime_error(listen + ": the HTTP server does not start");
  socket.release();  // the daemon closes it
}

}  // namespace tributary::control
