#include "tools/agentd/pods/libpod.h"

#include <curl/curl.h>

#include <mutex>

namespace tributary::agentd {
namespace {

using Json = nlohmann::json;

constexpr const char* kBase = "http://podman/v4.0.0/libpod/containers/";
constexpr std::size_t kMostReply = 64 << 20;
constexpr long kUsualTimeout = 20;
constexpr long kCreateTimeout = 300;  // may pull an image
constexpr long kNotFound = 404;
constexpr long kNotModified = 304;

std::size_t append(char* data, std::size_t size, std::size_t count, void* to) {
  auto& body = *static_cast<std::string*>(to);
  if (body.size() + size * count > kMostReply) return 0;
  body.append(data, size * count);
  return size * count;
}

// Not zero: the wait ends.
int gives_up(void* of, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  const auto& is_time = *static_cast<const std::function<bool()>*>(of);
  return is_time && is_time() ? 1 : 0;
}

std::string text_at(const Json& object, const char* key) {
  const auto at = object.find(key);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

RuntimeContainer container_of(const Json& row) {
  RuntimeContainer found;
  found.id = text_at(row, "Id");
  found.state = text_at(row, "State");
  if (const auto code = row.find("ExitCode"); code != row.end() && code->is_number_integer())
    found.exit_code = code->get<int>();
  if (const auto pid = row.find("Pid"); pid != row.end() && pid->is_number_integer())
    found.pid = pid->get<int>();
  if (const auto labels = row.find("Labels"); labels != row.end() && labels->is_object()) {
    found.instance = text_at(*labels, kInstanceLabel);
    found.container = text_at(*labels, kContainerLabel);
  }
  return found;
}

}  // namespace

Libpod::Libpod(std::string socket, std::string node)
    : socket_(std::move(socket)), node_(std::move(node)) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  curl_ = curl_easy_init();
  if (curl_ == nullptr) throw std::bad_alloc();
}

Libpod::~Libpod() {
  curl_easy_cleanup(curl_);
}

Libpod::Reply Libpod::ask(const char* method, const std::string& path, const std::string& body,
                          long timeout_s) {
  Reply reply;
  const std::string url = kBase + path;
  curl_easy_reset(curl_);
  curl_easy_setopt(curl_, CURLOPT_UNIX_SOCKET_PATH, socket_.c_str());
  curl_easy_setopt(curl_, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl_, CURLOPT_CUSTOMREQUEST, method);
  curl_easy_setopt(curl_, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl_, CURLOPT_TIMEOUT, timeout_s);
  curl_easy_setopt(curl_, CURLOPT_WRITEFUNCTION, &append);
  curl_easy_setopt(curl_, CURLOPT_WRITEDATA, &reply.body);
  curl_easy_setopt(curl_, CURLOPT_NOPROGRESS, 0L);
  curl_easy_setopt(curl_, CURLOPT_XFERINFOFUNCTION, &gives_up);
  curl_easy_setopt(curl_, CURLOPT_XFERINFODATA, &gives_up_);
  curl_slist* const headers = curl_slist_append(nullptr, "Content-Type: application/json");
  curl_easy_setopt(curl_, CURLOPT_HTTPHEADER, headers);
  if (!body.empty()) {
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDS, body.c_str());
    curl_easy_setopt(curl_, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  }
  const CURLcode code = curl_easy_perform(curl_);
  curl_slist_free_all(headers);
  if (code == CURLE_ABORTED_BY_CALLBACK)
    throw RuntimeError("podman at " + socket_ + " is not waited for any longer");
  if (code != CURLE_OK)
    throw RuntimeError("podman does not answer at " + socket_ + ": " + curl_easy_strerror(code));
  curl_easy_getinfo(curl_, CURLINFO_RESPONSE_CODE, &reply.status);
  return reply;
}

void Libpod::fail(const std::string& doing, const Reply& reply) {
  const Json answer = Json::parse(reply.body, nullptr, false);
  std::string why = answer.is_object() ? text_at(answer, "message") : "";
  if (why.empty()) why = "status " + std::to_string(reply.status);
  throw RuntimeError("podman cannot " + doing + ": " + why);
}

std::string Libpod::escaped(const std::string& text) const {
  char* const escaped = curl_easy_escape(curl_, text.data(), static_cast<int>(text.size()));
  if (escaped == nullptr) throw std::bad_alloc();
  std::string result = escaped;
  curl_free(escaped);
  return result;
}

std::vector<RuntimeContainer> Libpod::list() {
  const Json filter = {{"label", {std::string(kNodeLabel) + "=" + node_}}};
  const Reply reply =
      ask("GET", "json?all=true&filters=" + escaped(filter.dump()), "", kUsualTimeout);
  const Json rows = Json::parse(reply.body, nullptr, false);
  if (reply.status != 200 || !(rows.is_array() || rows.is_null())) fail("list containers", reply);
  std::vector<RuntimeContainer> found;
  for (const Json& row : rows) found.push_back(container_of(row));
  return found;
}

std::string Libpod::create(const Json& spec) {
  const Reply reply = ask(
      "POST", "create", spec.dump(-1, ' ', false, Json::error_handler_t::replace), kCreateTimeout);
  if (reply.status != 201) fail("create the container", reply);
  return text_at(Json::parse(reply.body, nullptr, false), "Id");
}

void Libpod::start(const std::string& id) {
  const Reply reply = ask("POST", escaped(id) + "/start", "", kUsualTimeout);
  if (reply.status >= 300 && reply.status != kNotModified) fail("start the container", reply);
}

std::string Libpod::log_frames(const std::string& id, unsigned lines) {
  Reply reply =
      ask("GET", escaped(id) + "/logs?stdout=true&stderr=true&tail=" + std::to_string(lines), "",
          kUsualTimeout);
  if (reply.status != 200) fail("read the log", reply);
  return std::move(reply.body);
}

// podman cleans up when it cannot make a process because there is one already. One that it makes
// here runs nothing of the container, and goes with it.
void Libpod::reclaim(const std::string& id) {
  ask("POST", escaped(id) + "/init", "", kUsualTimeout);
}

void Libpod::remove(const std::string& id, unsigned grace_s) {
  const Reply reply =
      ask("DELETE", escaped(id) + "?force=true&v=true&timeout=" + std::to_string(grace_s), "",
          kUsualTimeout + static_cast<long>(grace_s));
  if (reply.status >= 300 && reply.status != kNotFound) fail("remove the container", reply);
}

}  // namespace tributary::agentd
