#include "tools/managerd/pages.h"

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "manager/service/group_load.h"
#include "tools/managerd/page.h"

namespace tributary::managerd {
namespace {

using control::HttpPage;
using control::HttpQuery;
using manager::Cluster;
using manager::PodCluster;
using nlohmann::ordered_json;

// Replaces what is no UTF-8: agents report any text.
HttpPage json_page(std::size_t all, ordered_json rows) {
  const ordered_json body{{"all", all}, {"rows", std::move(rows)}};
  return {200, "application/json",
          body.dump(-1, ' ', false, ordered_json::error_handler_t::replace)};
}

// The rows of the first kMostRows items.
template <typename Items, typename MakeRow>
HttpPage page_of(const Items& items, MakeRow make_row) {
  ordered_json rows = ordered_json::array();
  for (const auto& item : items) {
    if (rows.size() == kMostRows) break;
    rows.push_back(make_row(item));
  }
  return json_page(items.size(), std::move(rows));
}

ordered_json row_of(const manager::Device& device) {
  return {{"name", device.name},
          {"kind", device.kind},
          {"memory_bytes", device.memory_bytes},
          {"free_bytes", device.free_bytes},
          {"load", device.load},
          {"problem", device.problem},
          {"pod", device.claimed_by}};
}

ordered_json row_of(const manager::Node& node) {
  ordered_json taints = ordered_json::array();
  for (const manager::Taint& taint : node.taints)
    taints.push_back(taint.key + "=" + taint.value + ":" + taint.effect);
  ordered_json devices = ordered_json::array();
  for (const manager::Device& device : node.devices) devices.push_back(row_of(device));
  return {{"name", node.name},
          {"leaf", node.leaf},
          {"ready", node.ready},
          {"taints", taints},
          {"cpu_millis", node.cpu_millis},
          {"cpu_millis_used", node.cpu_millis_used},
          {"memory_bytes", node.memory_bytes},
          {"memory_used", node.memory_used},
          {"cpu_load", node.cpu_load},
          {"devices", devices}};
}

ordered_json row_of(const manager::GroupLoad& group) {
  ordered_json row{{"name", group.name},
                   {"min_count", group.min_count},
                   {"pods", group.pods},
                   {"running", group.running},
                   {"devices", group.devices}};
  if (group.cpu) row["cpu"] = *group.cpu;
  if (group.load) row["load"] = *group.load;
  return row;
}

ordered_json row_of(const manager::ContainerStatus& container) {
  ordered_json row{{"name", container.name},
                   {"state", container.state},
                   {"exit_code", container.exit_code},
                   {"restarts", container.restarts},
                   {"message", container.message}};
  if (container.cpu) row["cpu"] = *container.cpu;
  return row;
}

ordered_json row_of(const manager::PodRecord& record) {
  ordered_json containers = ordered_json::array();
  for (const manager::ContainerStatus& one : record.containers) containers.push_back(row_of(one));
  ordered_json row{{"name", record.pod.metadata.name}, {"phase", name_of(record.phase)},
                   {"deleting", record.deleting},      {"node", record.node},
                   {"devices", record.devices},        {"group", record.pod.spec.group},
                   {"reason", record.reason},          {"message", record.message},
                   {"containers", containers}};
  if (record.seat) row["rank"] = record.seat->rank;
  return row;
}

const char* name_of(manager::Phase phase) {
  switch (phase) {
    case manager::Phase::queued: return "QUEUED";
    case manager::Phase::starting: return "STARTING";
    case manager::Phase::running: return "RUNNING";
  }
  return "";
}

ordered_json row_of(const Cluster::View& view, const manager::Job& job) {
  ordered_json switches = ordered_json::array();
  for (const auto& [name, need] : job.needs) switches.push_back(name);
  return {{"name", job.request.job.config.name},
          {"tenant", job.request.tenant},
          {"id", job.id},
          {"state", name_of(phase_of(job, view.switches))},
          {"workers", job.request.job.config.workers},
          {"priority", job.request.priority},
          {"switches", switches},
          {"missing", missing_switches(job, view.switches)},
          {"waits_for", job.admitted() ? "" : job.waits_for}};
}

HttpPage jobs_page(const Cluster& cluster) {
  return cluster.look([](const Cluster::View& view) {
    return page_of(view.service.admission().jobs(),
                   [&view](const auto& entry) { return row_of(view, entry.second); });
  });
}

HttpPage pods_page(const PodCluster& pods) {
  return pods.look([](const PodCluster::View& view) {
    return page_of(view.book.pods(), [](const auto& entry) { return row_of(entry.second); });
  });
}

HttpPage nodes_page(const PodCluster& pods) {
  const auto nodes =
      pods.look([](const PodCluster::View& view) { return view.book.nodes_in_use(); });
  return page_of(nodes, [](const manager::Node& node) { return row_of(node); });
}

HttpPage groups_page(const PodCluster& pods) {
  const auto groups =
      pods.look([](const PodCluster::View& view) { return group_loads(view.book); });
  return page_of(groups, [](const manager::GroupLoad& group) { return row_of(group); });
}

}  // namespace

control::HttpServer::Pages pages(const Cluster& cluster, const PodCluster& pods) {
  return {{"/",
           [](const HttpQuery&) {
             return HttpPage{200, "text/html; charset=utf-8", kPage};
           }},
          {"/nodes", [&pods](const HttpQuery&) { return nodes_page(pods); }},
          {"/groups", [&pods](const HttpQuery&) { return groups_page(pods); }},
          {"/pods", [&pods](const HttpQuery&) { return pods_page(pods); }},
          {"/jobs", [&cluster](const HttpQuery&) { return jobs_page(cluster); }}};
}

}  // namespace tributary::managerd
