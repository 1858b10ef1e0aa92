#include "control/change/changes.h"

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "config/text/file.h"

namespace tributary::control {

using nlohmann::ordered_json;

Changes::Changes(RunningConfig& running, Tell tell, std::string path, bool has_manager)
    : running_(running), tell_(tell), path_(std::move(path)), has_manager_(has_manager) {}

std::string Changes::tell_reloaded(const Reloaded& reloaded) {
  const std::string line = "reloaded " + path_ + ": " + reloaded.text;
  reloaded.set_aside ? tell_.warn(line) : tell_(line);
  return reloaded.text;
}

std::string Changes::reload() try {
  return tell_reloaded(running_.reload());
} catch (const TakenButNotWhole& change) {
  tell_.warn("reloaded " + path_ + ": " + change.what());
  throw;
} catch (const std::exception& error) {
  tell_.warn(std::string("not reloaded: ") + error.what());
  throw;
}

void Changes::reload_on_signal() try {
  tell_reloaded(running_.reload_patiently());
} catch (const TakenButNotWhole& change) {
  tell_.warn("reloaded " + path_ + ": " + change.what());
} catch (const std::exception& error) {
  tell_.warn(std::string("not reloaded: ") + error.what());
}

ordered_json Changes::set(const SetRequest& request) try {
  ordered_json answer = running_.set(request);
  if (request.dry_run) return answer;
  for (const auto& key : answer["keys"])
    tell_("set " + key["path"].get<std::string>() + ": " + key["from"].get<std::string>() + " -> " +
          key["to"].get<std::string>());
  return answer;
} catch (const TakenButNotWhole& change) {
  tell_.warn(std::string("set: ") + change.what());
  throw;
}

void Changes::remedy(const CollisionRemedy& remedy) try {
  set({.values = {{remedy.key, remedy.value}}});
} catch (const TakenButNotWhole&) {  // told
}

ordered_json Changes::assign(AssignRequest request) {
  if (!has_manager_)
    throw std::invalid_argument("the switch was started without --assigned, so it has no manager");
  if (!request.forget_term) request.text = config::read_file(request.file);
  ordered_json answer = running_.assign(request);
  if (request.forget_term) tell_("the manager's term is forgotten: the next document may have any");
  if (!request.dry_run && !answer["change"].get<std::string>().empty())
    tell_("assigned, revision " + answer["version"]["revision"].dump() + ": " +
          answer["change"].get<std::string>());
  return answer;
}

}  // namespace tributary::control
