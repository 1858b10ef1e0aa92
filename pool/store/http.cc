#include "pool/store/http.h"

#include <curl/curl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <optional>

#include "pool/store/redirect_guard.h"

namespace tributary::pool {
namespace {

constexpr long kMostRedirects = 5;

void start_curl() {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) throw std::runtime_error("libcurl cannot be started");
}

StoreFault fault_of(CURLcode code) {
  switch (code) {
    case CURLE_OPERATION_TIMEDOUT: return StoreFault::timeout;
    case CURLE_PARTIAL_FILE:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING: return StoreFault::incomplete;
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_WRITE_ERROR: return StoreFault::refused;
    default: return StoreFault::unavailable;
  }
}

StoreFault fault_of(long status) {
  if (status == 404 || status == 410) return StoreFault::not_found;
  if (status == 401 || status == 403) return StoreFault::denied;
  if (status == 408 || status == 429 || status >= 500) return StoreFault::unavailable;
  return StoreFault::refused;
}

// Stores explain errors in XML or JSON; returns the first words of it, in one line.
std::string first_words(const std::string& body) {
  std::string out;
  for (const char c : body.substr(0, 300))
    out += std::isprint(static_cast<unsigned char>(c)) != 0 ? c : ' ';
  return out.empty() ? "" : ": " + out;
}

// libcurl asks several times while data comes, and once a second otherwise.
int is_stopped(void* stop, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  return static_cast<const StopFlag*>(stop)->is_set() ? 1 : 0;
}

struct HeaderList {
  ~HeaderList() { curl_slist_free_all(list); }
  void add(const std::string& line) { list = curl_slist_append(list, line.c_str()); }
  curl_slist* list = nullptr;
};

curl_socket_t open_socket(void* guard, curlsocktype, curl_sockaddr* address) {
  if (!static_cast<RedirectGuard*>(guard)->may_connect(address->addr)) return CURL_SOCKET_BAD;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// A connection that is there already is used without open_socket().
int before_request(void* guard, char* address, char*, int, int) {
  return static_cast<RedirectGuard*>(guard)->may_ask(address) ? CURL_PREREQFUNC_OK
                                                              : CURL_PREREQFUNC_ABORT;
}

void guard_redirects(CURL* curl, RedirectGuard& guard) {
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  curl_easy_setopt(curl, CURLOPT_OPENSOCKETDATA, &guard);
  curl_easy_setopt(curl, CURLOPT_PREREQFUNCTION, &before_request);
  curl_easy_setopt(curl, CURLOPT_PREREQDATA, &guard);
}

}  // namespace

struct Http::Handle {
  Handle() : curl(curl_easy_init()) {
    if (curl == nullptr) throw std::bad_alloc();
  }
  ~Handle() { curl_easy_cleanup(curl); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  CURL* curl;
};

// The target of received bytes, and what the answer's head says. Of an error answer, only the first
// words are kept; bytes that are not the asked range never reach the target.
struct Http::Body {
  CURL* curl = nullptr;
  std::span<std::byte> out;
  std::size_t done = 0;
  std::optional<AskedRange> asked;  // nullopt: the whole is asked for, as text
  std::size_t most = 0;
  std::string text;
  bool too_long = false;
  bool head_ended = false;
  std::string etag;
  std::string content_ranges;

  // Why the answer is not the wanted one; nullopt for errors that their status explains.
  [[nodiscard]] std::optional<RangeProblem> problem() const {
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 300) return std::nullopt;
    if (!asked) {
      if (status == 200 && content_ranges.empty()) return std::nullopt;
      return RangeProblem{StoreFault::refused, "asked for the whole, given HTTP " +
                                                   std::to_string(status) +
                                                   " with Content-Range '" + content_ranges + "'"};
    }
    curl_off_t length = -1;
    curl_easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    const char* url = nullptr;
    curl_easy_getinfo(curl, CURLINFO_EFFECTIVE_URL, &url);
    GivenRange given{status, content_ranges, std::nullopt, url == nullptr ? "" : url};
    if (length >= 0) given.content_length = static_cast<std::uint64_t>(length);
    return check_range(*asked, given);
  }

  static std::size_t write(const char* data, std::size_t, std::size_t bytes, void* self_pointer) {
    auto& self = *static_cast<Body*>(self_pointer);
    long status = 0;
    curl_easy_getinfo(self.curl, CURLINFO_RESPONSE_CODE, &status);
    if (status >= 300) {
      self.text.append(
          data, std::min<std::size_t>(bytes, 4096 - std::min<std::size_t>(4096, self.text.size())));
      return bytes;
    }
    if (!self.asked) {
      self.too_long = bytes > self.most - self.text.size();
      if (!self.too_long) self.text.append(data, bytes);
      return self.too_long ? 0 : bytes;
    }
    if (self.done == 0 && self.problem()) return 0;
    self.too_long = bytes > self.out.size() - self.done;
    if (self.too_long) return 0;
    std::memcpy(self.out.data() + self.done, data, bytes);
    self.done += bytes;
    return bytes;
  }

  static std::size_t header(const char* data, std::size_t, std::size_t bytes, void* self_pointer) {
    auto& self = *static_cast<Body*>(self_pointer);
    std::string line(data, bytes);
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())) != 0)
      line.pop_back();
    if (line.starts_with("HTTP/")) {  // the headers before it belong to a redirect
      self.etag.clear();
      self.content_ranges.clear();
      self.head_ended = false;
      return bytes;
    }
    if (line.empty()) self.head_ended = true;
    const std::size_t colon = std::min(line.find(':'), line.size());
    std::string name = line.substr(0, colon);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::size_t value_at = line.find_first_not_of(" \t", std::min(colon + 1, line.size()));
    const std::string value = value_at == std::string::npos ? "" : line.substr(value_at);
    if (name == "etag") self.etag = value;
    if (name == "content-range")
      self.content_ranges += (self.content_ranges.empty() ? "" : ", ") + value;
    return bytes;
  }
};

Http::Http(const StoreTimeouts& timeouts) : timeouts_(timeouts) {
  start_curl();
  handle_ = std::make_unique<Handle>();
}

Http::~Http() = default;

HttpAnswer Http::perform(const HttpRequest& request, Body& body, const std::string& range) {
  CURL* const curl = handle_->curl;
  curl_easy_reset(curl);  // keeps the connection
  body.curl = curl;
  HeaderList headers;
  for (const std::string& line : request.headers) headers.add(line);
  std::array<char, CURL_ERROR_SIZE> error{};
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.list);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Body::write);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Body::header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &body);
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error.data());
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, request.follow_redirects ? 1L : 0L);
  // Keys of S3 may have parts "." and "..". A relative redirect needs them resolved.
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, request.follow_redirects ? 0L : 1L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kMostRedirects);
  RedirectGuard guard;
  if (request.follow_redirects) guard_redirects(curl, guard);
  curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 256L << 10);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(timeouts_.connect.to_ns() / 1'000'000));
  curl_easy_setopt(curl, CURLOPT_SERVER_RESPONSE_TIMEOUT,
                   std::max(1L, static_cast<long>(timeouts_.stall.to_ns() / 1'000'000'000)));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT,
                   static_cast<long>(timeouts_.least_kib_per_second) << 10);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                   std::max(1L, static_cast<long>(timeouts_.stall.to_ns() / 1'000'000'000)));
  curl_easy_setopt(curl, CURLOPT_NOPROGRESS, stop_ == nullptr ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, &is_stopped);
  curl_easy_setopt(curl, CURLOPT_XFERINFODATA, stop_);
  if (!range.empty()) curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
  if (!request.credentials.empty()) {
    curl_easy_setopt(curl, CURLOPT_USERPWD, request.credentials.c_str());
    curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, request.signature_scope.c_str());
  }
  const CURLcode code = curl_easy_perform(curl);
  if (code != CURLE_OK && !guard.refusal().empty())
    throw StoreError(StoreFault::refused, request.url + ": " + guard.refusal());
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  if (code == CURLE_ABORTED_BY_CALLBACK)
    throw StoreError(StoreFault::unavailable, request.url + ": reading was stopped");
  if (body.too_long)
    throw StoreError(StoreFault::refused, request.url + ": sends more than was asked for" +
                                              (range.empty() ? "" : " (bytes " + range + ")"));
  if (code == CURLE_OK && !body.head_ended)
    throw StoreError(StoreFault::incomplete, request.url + ": the answer ends in its head");
  // write() ends the transfer of an answer that is not the range.
  if (code == CURLE_OK || code == CURLE_WRITE_ERROR)
    if (const auto problem = body.problem())
      throw StoreError(problem->fault, request.url + ": " + problem->text);
  if (code != CURLE_OK)
    throw StoreError(
        fault_of(code),
        request.url + ": " + (error[0] != '\0' ? error.data() : curl_easy_strerror(code)));
  if (status >= 300)
    throw StoreError(request.passes != nullptr && request.passes(status, body.text)
                         ? StoreFault::unavailable
                         : fault_of(status),
                     request.url + ": " + (range.empty() ? "" : "bytes " + range + ": ") + "HTTP " +
                         std::to_string(status) + first_words(body.text));
  return {std::move(body.text), std::move(body.etag)};
}

HttpAnswer Http::get_text(const HttpRequest& request, std::size_t most) {
  Body body;
  body.most = most;
  return perform(request, body, "");
}

HttpAnswer Http::get_range(const HttpRequest& request, const HttpRange& range) {
  if (range.out.empty()) return get_text(request, 0);
  Body body;
  body.out = range.out;
  body.asked = {request.range_way, range.offset, range.out.size(), range.object_bytes};
  const std::string text =
      std::to_string(range.offset) + "-" + std::to_string(range.offset + range.out.size() - 1);
  HttpAnswer answer = perform(request, body, request.range_way == RangeWay::header ? text : "");
  if (body.done != range.out.size())
    throw StoreError(StoreFault::incomplete, request.url + ": asked for bytes " + text +
                                                 ", given " + std::to_string(body.done) + " of " +
                                                 std::to_string(range.out.size()) + " bytes");
  return answer;
}

}  // namespace tributary::pool
