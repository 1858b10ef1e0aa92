#include "manager/admission/job_request.h"

#include <algorithm>

#include "config/plan/auto_planes.h"
#include "config/text/field.h"
#include "config/text/file.h"
#include "manager/admission/completion_hosts.h"

namespace tributary::manager {
namespace {

using config::Field;
using config::Fields;
using config::ReadContext;

constexpr std::uint32_t kMostPriority = 100;
const Duration kLeastLease = Duration::seconds(1);
const Duration kMostLease = Duration::seconds(86'400);
// Jobs are read as elements of a topology's list, which needs an id; the manager assigns the real
// one.
constexpr std::uint32_t kNoId = 1;

const Field<config::Topology>& jobs_field() {
  const auto& fields = config::topology_schema();
  return *std::find_if(fields.begin(), fields.end(),
                       [](const auto& field) { return field.name == "jobs"; });
}

config::Node scalar_node(std::string text, config::Mark mark) {
  config::Node node;
  node.kind = config::Node::Kind::scalar;
  node.text = std::move(text);
  node.mark = mark;
  return node;
}

void read_job(ReadContext& context, const std::string& path, const config::Node& node,
              JobRequest& owner) {
  if (node.kind != config::Node::Kind::mapping)
    return context.fail(path, node.mark,
                        std::string("is ") + name_of(node.kind) + "; allowed: a mapping of keys");
  const auto has = [&](const char* key) {
    return std::any_of(node.entries.begin(), node.entries.end(),
                       [&](const auto& entry) { return entry.key.text == key; });
  };
  if (has("id")) context.fail(path + ".id", node.mark, "is the manager's to give; leave it out");
  if (!has("name")) context.fail(path + ".name", node.mark, "is missing; it is required");
  config::Node list;
  list.kind = config::Node::Kind::sequence;
  list.mark = node.mark;
  list.items.push_back(node);
  list.items[0].entries.push_back(
      {scalar_node("id", node.mark), scalar_node(std::to_string(kNoId), node.mark)});
  ReadContext inner("");
  config::Topology topology;
  jobs_field().read(inner, "jobs", list, topology);
  const std::vector<ReadContext::Renaming> names = {{path, "jobs[0]"}};
  context.adopt(inner, names);
  if (topology.jobs.empty()) return;
  owner.job = std::move(topology.jobs[0]);
  owner.job.config.id = 0;
  // One: amounts are computed before the switches, and their lcores, are chosen.
  if (owner.job.config.planes == config::kAutoPlanes) owner.job.config.planes = 1;
}

std::string write_job(const JobRequest& owner, int indent) {
  config::Topology topology;
  topology.jobs.push_back(owner.job);
  topology.jobs[0].config.id = kNoId;
  // "jobs:" and "  - id: 1" of a list; what follows is indented alike.
  std::string lines = jobs_field().write(topology, indent);
  lines.replace(0, lines.find('\n'), config::indentation(indent) + "job:");
  const std::string id = "id: " + std::to_string(kNoId) + "\n";
  const std::size_t at = lines.find(id);
  const std::size_t start = lines.rfind('\n', at) + 1;
  lines.erase(start, at + id.size() - start);
  return lines;
}

const Fields<JobRequest>& request_fields() {
  using R = JobRequest;
  static const Fields<R> fields = [] {
    Fields<R> all = {
        config::scalar("tenant", &R::tenant, config::identifier(), "Tenant that owns the job.",
                       config::Presence::required),
        config::scalar("priority", &R::priority, config::integer<std::uint32_t>(0, kMostPriority),
                       "In the queue, higher first."),
        config::scalar("lease", &R::lease,
                       config::or_absent(config::duration(kLeastLease, kMostLease)),
                       "Silence of all members that frees the job."),
        config::choice<R, PolicyOwner>(
            "policy", &R::policy,
            {{"switch", PolicyOwner::by_switch}, {"manager", PolicyOwner::manager}},
            "Owner of the exclusion of stragglers and of the choice among completion hosts: the "
            "switches, or the manager.")};
    Field<R> job;
    job.name = "job";
    job.presence = config::Presence::required;
    job.container = true;
    job.read = read_job;
    job.write = write_job;
    all.push_back(job);
    return all;
  }();
  return fields;
}

// Whether the manager has something to decide about the job while it runs.
bool leaves_it_something(const config::JobConfig& job) {
  return job.stragglers.exclude != config::ExcludeBy::none || has_ranked_hosts(job);
}

}  // namespace

JobRequest parse_job_request(std::string_view text, const std::string& file_name) {
  ReadContext context(file_name);
  JobRequest request;
  config::read_mapping(context, "", config::parse_text(text, file_name), request_fields(), request);
  if (request.policy == PolicyOwner::manager && !leaves_it_something(request.job.config))
    context.fail("policy", {},
                 "is manager, and job.stragglers.exclude none leaves it nothing to do; allowed: "
                 "largest and threshold, or completion_hosts below the root with host_choice "
                 "least_load or two_stage");
  std::vector<config::ConfigError> errors = context.errors();
  for (config::ConfigError& error : errors) error.file = file_name;  // also of the job's own
  if (!errors.empty()) throw config::ConfigErrors(errors);
  return request;
}

std::string dump(const JobRequest& request) {
  return config::write_fields(request_fields(), request, 0);
}

}  // namespace tributary::manager
