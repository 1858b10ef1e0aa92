#include "manager/kubernetes/watch.h"

#include <algorithm>
#include <charconv>

#include "manager/kubernetes/table.h"
#include "manager/service/wall_clock.h"

namespace tributary::manager::kubernetes {
namespace {

std::optional<std::uint64_t> number(const Request& request, const std::string& name) {
  const std::string text = request.asked(name);
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    throw Failure(400, "BadRequest", name + "=" + text + " is no number");
  return value;
}

}  // namespace

Watch::Watch(Catalog& catalog, PodCluster& pods, Resource resource, const std::string& name,
             const Request& request)
    : catalog_(catalog),
      pods_(pods),
      resource_(resource),
      name_(name),
      selector_(request.asked("labelSelector"), request.asked("fieldSelector")),
      as_table_(request.wants_table()) {
  constexpr std::uint64_t kMostSeconds = 86400;
  if (const auto seconds = number(request, "timeoutSeconds"))
    end_ =
        std::chrono::steady_clock::now() + std::chrono::seconds(std::min(*seconds, kMostSeconds));
  const auto version = number(request, "resourceVersion");
  if (version && *version != 0) version_ = version;
}

bool Watch::is_wanted(const Object& object) const {
  return object && (name_.empty() || (*object)["metadata"]["name"] == name_) &&
         selector_.matches(*object);
}

void Watch::tell(const char* type, const Json& object, std::string& lines) {
  Json event = {{"type", type}};
  event["object"] = as_table_ ? table_of(resource_, {&object, 1}, wall_clock_ms(),
                                         object["metadata"]["resourceVersion"].get<std::string>())
                              : object;
  lines += text_of(event) + "\n";
}

std::string Watch::due() {
  std::string lines;
  if (!version_) {
    const auto [objects, version] = catalog_.list(resource_);
    for (const auto& [key, object] : objects)
      if (is_wanted(object)) tell("ADDED", *object, lines);
    version_ = version;
    return lines;
  }
  const auto changes = catalog_.since(resource_, *version_);
  if (!changes) {
    over_ = true;
    Json gone = {{"type", "ERROR"}};
    gone["object"] = Failure(410, "Expired",
                             "resourceVersion " + std::to_string(*version_) +
                                 " is not known any more; list again")
                         .json();
    return text_of(gone) + "\n";
  }
  for (const Ledger::Change& change : changes->changes) {
    const bool before = is_wanted(change.before);
    const bool after = is_wanted(change.after);
    if (after) tell(before ? "MODIFIED" : "ADDED", *change.after, lines);
    if (before && !after) tell("DELETED", *(change.after ? change.after : change.before), lines);
  }
  version_ = changes->version;
  return lines;
}

std::optional<std::string> Watch::next(std::chrono::milliseconds most) {
  using Clock = std::chrono::steady_clock;
  const auto until = std::min(Clock::now() + most, end_.value_or(Clock::time_point::max()));
  do {
    if (over_ || pods_.stopping() || (end_ && Clock::now() >= *end_)) return std::nullopt;
    std::string lines = due();
    if (!lines.empty()) return lines;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    // States of containers come without an event: it looks without one, too.
    constexpr std::chrono::milliseconds kTurn{250};
    pods_.wait_change(seen_, std::clamp(left, std::chrono::milliseconds(0), kTurn));
  } while (Clock::now() < until);
  return "";
}

}  // namespace tributary::manager::kubernetes
