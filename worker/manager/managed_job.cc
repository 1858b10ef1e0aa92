#include "worker/manager/managed_job.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace tributary::worker {
namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

// Pieces of waiting, between which `cancelled` is asked. Each one connects anew, which takes a busy
// machine longer.
constexpr double kFirstPieceS = 0.5;
constexpr double kLongestPieceS = 2;
constexpr double kLeastS = 0.001;

void check(const ManagedJob& managed) {
  if (managed.name.empty())
    throw std::invalid_argument("manager " + managed.manager +
                                ": no job is named; allowed: the name of one");
  if (!managed.worker.empty() && managed.rank)
    throw std::invalid_argument("worker " + managed.worker + " and rank " +
                                std::to_string(*managed.rank) + "; allowed: one of them");
}

std::string contents_of(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw std::invalid_argument("request " + path + ": cannot be read");
  return text.str();
}

Json request_of(const ManagedJob& managed, const ManagerAccess& access) {
  const auto variable = [&](const char* name) {
    const char* const value = access.environment(name);
    return std::string(value == nullptr ? "" : value);
  };
  return {{"manager", managed.manager},
          {"ca", variable("TRIBUTARY_TLS_CA")},
          {"cert", variable("TRIBUTARY_TLS_CERT")},
          {"key", variable("TRIBUTARY_TLS_KEY")},
          {"job", managed.name},
          {"request", managed.request.empty() ? "" : contents_of(managed.request)},
          {"file_name", managed.request}};
}

[[noreturn]] void fail(const Json& answer) {
  const std::string code = answer.at("code").get<std::string>();
  const std::string text = "manager: " + answer.at("error").get<std::string>();
  if (code == "USAGE" || code == "INVALID_ARGUMENT") throw std::invalid_argument(text);
  throw std::runtime_error(text);
}

// The job as the manager describes it, once it runs. None: cancelled.
std::optional<Json> job_of(const ManagedJob& managed, const ManagerAccess& access,
                           Duration timeout) {
  Json request = request_of(managed, access);
  const auto end = Clock::now() + std::chrono::nanoseconds(timeout.to_ns());
  for (double piece = kFirstPieceS;; piece = std::min(2 * piece, kLongestPieceS)) {
    const double left =
        std::max(kLeastS, std::chrono::duration<double>(end - Clock::now()).count());
    const bool is_last = !access.cancelled || left < 2 * piece;
    request["timeout_s"] = is_last ? left : piece;
    const Json answer =
        Json::parse(access.ask(request.dump(-1, ' ', false, Json::error_handler_t::replace)));
    if (answer.at("ok").get<bool>()) return answer.at("reply");
    if (is_last || answer.at("code") != "DEADLINE_EXCEEDED") fail(answer);
    if (access.cancelled()) return std::nullopt;
  }
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  return name.data();
}

std::uint32_t rank_of(const std::string& worker, const Json& members) {
  std::string known;
  for (const Json& member : members) {
    const std::string name = member.at("worker").get<std::string>();
    if (name == worker) return member.at("rank").get<std::uint32_t>();
    known += (known.empty() ? "" : ", ") + name;
  }
  throw std::invalid_argument("worker is '" + worker + "', and the job's are " + known +
                              "; allowed: one of these");
}

std::string address_of(std::uint32_t rank, const Json& members) {
  for (const Json& member : members)
    if (member.at("rank") == rank) return member.at("address").get<std::string>();
  throw std::invalid_argument("rank is " + std::to_string(rank) + "; allowed are 0 to " +
                              std::to_string(members.size() - 1));
}

}  // namespace

std::optional<ManagedPlace> place_of(const ManagedJob& managed, const ManagerAccess& access,
                                     Duration timeout) {
  check(managed);
  try {
    const std::optional<Json> job = job_of(managed, access, timeout);
    if (!job) return std::nullopt;
    const Json& members = job->at("members");
    ManagedPlace place;
    place.job = job->at("id").get<std::uint32_t>();
    place.size = job->at("workers").get<std::uint32_t>();
    place.rank = managed.rank
                     ? *managed.rank
                     : rank_of(managed.worker.empty() ? host_name() : managed.worker, members);
    place.address = address_of(place.rank, members);
    return place;
  } catch (const Json::exception& error) {
    throw std::runtime_error("manager " + managed.manager +
                             ": its answer makes no sense: " + error.what());
  }
}

}  // namespace tributary::worker
