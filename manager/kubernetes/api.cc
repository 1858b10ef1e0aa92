#include "manager/kubernetes/api.h"

#include <charconv>
#include <vector>

#include "config/text/error.h"
#include "manager/kubernetes/discovery.h"
#include "manager/kubernetes/objects.h"
#include "manager/kubernetes/table.h"
#include "manager/service/log_reader.h"
#include "manager/service/wall_clock.h"

namespace tributary::manager::kubernetes {
namespace {

Failure no_such(const Target& target) {
  return {404, "NotFound",
          "there is no " + std::string(kind_of(target.resource)) + " " + target.name};
}

Failure not_allowed(const Request& request, const std::string& allowed) {
  return {405, "MethodNotAllowed",
          request.method + " " + request.path + " is not served; allowed: " + allowed};
}

bool is_changed_by_clients(const Target& target) {
  return target.resource == Resource::pods || target.resource == Resource::pod_groups;
}

void require_space(const Target& target) {
  if (target.space != kSpace)
    throw Failure(404, "NotFound",
                  "there is no namespace '" + target.space + "'; allowed: " + kSpace);
}

// Whether nothing is to be done but to check. Throws Failure.
bool is_dry(const Request& request) {
  const std::string asked = request.asked("dryRun");
  if (!asked.empty() && asked != "All")
    throw Failure(400, "BadRequest", "dryRun=" + asked + " is not understood; allowed: All");
  return asked == "All";
}

std::uint32_t lines_of(const Request& request) {
  const std::string text = request.asked("tailLines");
  if (text.empty()) return 0;
  std::uint32_t lines = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), lines);
  if (error != std::errc{} || end != text.data() + text.size() || lines == 0)
    throw Failure(400, "BadRequest", "tailLines=" + text + "; allowed: 1 and more");
  return lines;
}

Failure failure_of(const LogError& error) {
  switch (error.kind) {
    case LogError::Kind::no_pod: return {404, "NotFound", error.what()};
    case LogError::Kind::no_container:
    case LogError::Kind::no_place: break;
    case LogError::Kind::busy: return {429, "TooManyRequests", error.what()};
    case LogError::Kind::silent: return {503, "ServiceUnavailable", error.what()};
  }
  return {400, "BadRequest", error.what()};
}

// The same exceptions, as the gRPC interface has them.
Answer failed() {
  try {
    throw;
  } catch (const Failure& error) {
    return error.answer();
  } catch (const config::ConfigErrors& error) {
    return Failure(400, "BadRequest", error.what()).answer();
  } catch (const PodBook::AlreadyThere& error) {
    return Failure(409, "AlreadyExists", error.what()).answer();
  } catch (const StoreError& error) {
    return Failure(503, "ServiceUnavailable", error.what()).answer();
  } catch (const LogError& error) {
    return failure_of(error).answer();
  } catch (const std::invalid_argument& error) {
    return Failure(409, "Conflict", error.what()).answer();
  } catch (const std::exception& error) {
    return Failure(500, "InternalError", error.what()).answer();
  }
}

// A client that must not delete another object of the same name says its uid.
void check_preconditions(const Request& request, const Json& object) {
  if (request.body.empty()) return;
  const Json options = Json::parse(request.body, nullptr, false);
  if (!options.is_object())
    throw Failure(400, "BadRequest", "the body is no JSON object; allowed: DeleteOptions");
  const Json::json_pointer path("/preconditions/uid");
  if (options.contains(path) && options[path] != object["metadata"]["uid"])
    throw Failure(409, "Conflict", "the object has another uid than the one to be deleted");
}

}  // namespace

Object Api::find(const Target& target) {
  if (!target.space.empty() && target.space != kSpace) throw no_such(target);
  Object found = catalog_.find(target.resource, target.name);
  if (!found) throw no_such(target);
  return found;
}

Answer Api::list(const Target& target, const Request& request) {
  const Selector selector(request.asked("labelSelector"), request.asked("fieldSelector"));
  const auto [all, version] = catalog_.list(target.resource);
  std::vector<Json> found;
  if (target.space.empty() || target.space == kSpace)
    for (const auto& [name, object] : all)
      if (selector.matches(*object)) found.push_back(*object);
  const std::string at = std::to_string(version);
  if (request.wants_table())
    return json_answer(200, table_of(target.resource, found, wall_clock_ms(), at));
  Json list = {{"kind", std::string(kind_of(target.resource)) + "List"},
               {"apiVersion", version_of(target.resource)},
               {"metadata", {{"resourceVersion", at}}}};
  list["items"] = std::move(found);
  return json_answer(200, list);
}

Api::Reply Api::read(const Target& target, const Request& request) {
  if (target.part == "log") return log(target, request);
  if (request.asks("watch")) {
    if (!target.space.empty()) require_space(target);
    return std::make_unique<Watch>(catalog_, pods_, target.resource, target.name, request);
  }
  if (target.name.empty()) return list(target, request);
  const Object object = find(target);
  if (!request.wants_table()) return json_answer(200, *object);
  const std::string version = (*object)["metadata"]["resourceVersion"];
  return json_answer(200, table_of(target.resource, {object.get(), 1}, wall_clock_ms(), version));
}

Answer Api::log(const Target& target, const Request& request) {
  static_cast<void>(find(target));
  for (const char* unserved : {"follow", "previous", "timestamps"})
    if (request.asks(unserved))
      throw Failure(400, "BadRequest",
                    std::string(unserved) + " is not served; allowed: container, tailLines");
  return {.content_type = "text/plain; charset=utf-8",
          .body = read_log(pods_, target.name, request.asked("container"), lines_of(request))};
}

Answer Api::create(const Target& target, const Request& request) {
  require_space(target);
  const bool dry = is_dry(request);
  const Manifest manifest = parse_manifest(request.body, "manifest");
  const bool is_pod = target.resource == Resource::pods;
  if (manifest.pods.size() != (is_pod ? 1 : 0) || manifest.groups.size() != (is_pod ? 0 : 1))
    throw Failure(
        400, "BadRequest",
        std::string("the body is something else; allowed here: one ") + kind_of(target.resource));
  if (dry) {
    if (!is_pod) return json_answer(201, object_of(manifest.groups[0]));
    PodRecord record;
    record.pod = manifest.pods[0];
    return json_answer(201, object_of(record));
  }
  const std::string name =
      is_pod ? manifest.pods[0].metadata.name : manifest.groups[0].metadata.name;
  pods_.create(manifest, now_());
  const Object made = catalog_.find(target.resource, name);
  if (!made) throw Failure(409, "Conflict", name + " has been deleted meanwhile");
  return json_answer(201, *made);
}

// Not another pod that has got the name meanwhile.
bool Api::remove_pod(const std::string& name, const std::string& uid) {
  const auto sequence = pods_.look([&](const PodCluster::View& view) {
    const auto at = view.book.pods().find(name);
    const bool is_it = at != view.book.pods().end() && uid_of(at->second) == uid;
    return is_it ? std::optional(at->second.sequence) : std::nullopt;
  });
  return sequence && pods_.remove(name, now_(), sequence);
}

Answer Api::remove(const Target& target, const Request& request) {
  require_space(target);
  const Object before = find(target);
  check_preconditions(request, *before);
  if (is_dry(request)) return json_answer(200, *before);
  const bool known = target.resource == Resource::pods
                         ? remove_pod(target.name, (*before)["metadata"]["uid"])
                         : pods_.remove_group(target.name, now_());
  if (!known) throw no_such(target);
  // The object while its containers end; after that, only that it is gone.
  if (const Object ends = catalog_.find(target.resource, target.name))
    return json_answer(200, *ends);
  return json_answer(200,
                     {{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"metadata", Json::object()},
                      {"status", "Success"},
                      {"details",
                       {{"name", target.name},
                        {"group", target.resource == Resource::pods ? "" : "scheduling.k8s.io"},
                        {"kind", plural_of(target.resource)},
                        {"uid", (*before)["metadata"]["uid"]}}}});
}

Api::Reply Api::dispatch(const Request& request) {
  const bool reads = request.method == "GET" || request.method == "HEAD";
  if (request.path == "/healthz" || request.path == "/livez" || request.path == "/readyz")
    return Answer{.content_type = "text/plain; charset=utf-8", .body = "ok"};
  if (const auto found = discovery(request.path)) {
    if (!reads) throw not_allowed(request, "GET");
    return json_answer(200, *found);
  }
  const auto target = target_of(request.path);
  if (!target)
    throw Failure(404, "NotFound",
                  "nothing is served at " + request.path +
                      "; pods, nodes, events and namespaces are at /api/v1, podgroups at /apis/" +
                      kGroupVersion);
  if (reads) return read(*target, request);
  const bool changes = is_changed_by_clients(*target) && target->part.empty();
  if (changes && request.method == "POST" && target->name.empty()) return create(*target, request);
  if (changes && request.method == "DELETE" && !target->name.empty())
    return remove(*target, request);
  if (!changes) throw not_allowed(request, "GET");
  throw not_allowed(request, target->name.empty() ? "GET, POST" : "GET, DELETE");
}

Api::Reply Api::ask(const Request& request) {
  try {
    return dispatch(request);
  } catch (const std::exception&) {
    return failed();
  }
}

}  // namespace tributary::manager::kubernetes
