#include "manager/pods/pod_record.h"

#include <array>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "manager/pods/manifest.h"

namespace tributary::manager {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::array kPhases = {"Pending", "Running", "Succeeded", "Failed"};

Json json_of(const Seat& seat) {
  return {{"job", seat.job},
          {"id", seat.id},
          {"rank", seat.rank},
          {"size", seat.size},
          {"local_rank", seat.local_rank},
          {"local_size", seat.local_size},
          {"port", seat.port},
          {"address", seat.address},
          {"started", seat.started}};
}

Seat seat_of(const Json& json) {
  Seat seat;
  json.at("job").get_to(seat.job);
  json.at("id").get_to(seat.id);
  json.at("rank").get_to(seat.rank);
  json.at("size").get_to(seat.size);
  json.at("local_rank").get_to(seat.local_rank);
  json.at("local_size").get_to(seat.local_size);
  json.at("port").get_to(seat.port);
  json.at("address").get_to(seat.address);
  json.at("started").get_to(seat.started);
  return seat;
}

PodPhase phase_named(const std::string& name) {
  for (std::size_t i = 0; i < kPhases.size(); ++i)
    if (name == kPhases[i]) return static_cast<PodPhase>(i);
  throw std::runtime_error("no phase is called " + name);
}

}  // namespace

const char* name_of(PodPhase phase) {
  return kPhases[static_cast<std::size_t>(phase)];
}

std::string store_value(const PodRecord& record) {
  Json json = {
      {"sequence", record.sequence},    {"attempt", record.attempt},
      {"phase", name_of(record.phase)}, {"node", record.node},
      {"devices", record.devices},      {"deleting", record.deleting},
      {"reason", record.reason},        {"message", record.finished() ? record.message : ""},
      {"manifest", dump(record.pod)}};
  if (record.is_expired) json["expired"] = true;
  if (record.seat) json["seat"] = json_of(*record.seat);
  return json.dump();
}

PodRecord load_pod_record(const std::string& value, const std::string& key) {
  try {
    const Json json = Json::parse(value);
    Manifest manifest = parse_manifest(json.at("manifest").get<std::string>(), key);
    PodRecord record;
    record.pod = std::move(manifest.pods.at(0));
    record.ask = ask_of(record.pod);
    record.sequence = json.at("sequence").get<std::uint64_t>();
    record.attempt = json.at("attempt").get<std::uint32_t>();
    record.phase = phase_named(json.at("phase").get<std::string>());
    record.node = json.at("node").get<std::string>();
    record.devices = json.at("devices").get<std::vector<std::string>>();
    record.deleting = json.at("deleting").get<bool>();
    record.reason = json.at("reason").get<std::string>();
    record.message = json.at("message").get<std::string>();
    record.is_expired = json.value("expired", false);
    if (json.contains("seat")) record.seat = seat_of(json.at("seat"));
    return record;
  } catch (const std::exception& error) {
    throw std::runtime_error("store entry " + key + ": " + error.what());
  }
}

}  // namespace tributary::manager
