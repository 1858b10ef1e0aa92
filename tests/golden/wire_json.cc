#include "tests/golden/wire_json.h"

#include <array>
#include <stdexcept>
#include <type_traits>

#include "core/net/frame.h"
#include "core/wire/data_name.h"
#include "core/wire/drain.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"
#include "core/wire/integrity.h"
#include "core/wire/open_job.h"

namespace tributary::golden {
namespace {

using nlohmann::json;
using namespace tributary::wire;

// Calls visit(name, reference) for each field that travels, in wire order.
template <typename H, typename Visit>
void for_each_field(H& h, Visit visit) {
  visit("type", h.type);
  visit("flags", h.flags);
  visit("job", h.job);
  visit("epoch", h.epoch);
  visit("attempt", h.attempt);
  visit("seed_generation", h.seed_generation);
  visit("op", h.op);
  visit("chunk", h.chunk);
  visit("seq", h.seq);
  visit("slot", h.slot);
  visit("origin", h.origin);
  visit("child", h.child);
  visit("fan_in", h.fan_in);
  visit("covered", h.covered);
  visit("dtype", h.dtype);
  visit("reduce_op", h.reduce_op);
  visit("element_count", h.element_count);
  visit("scale_exponent", h.scale_exponent);
  visit("encoding", h.encoding);
  visit("collective", h.collective);
  visit("ttl", h.ttl);
  visit("shard", h.shard);
  visit("plane", h.plane);
  visit("stream", h.stream);
  visit("reason", h.reason);
}

json header_to_json(const Header& h) {
  json j = json::object();
  for_each_field(h, [&](const char* name, auto value) {
    if constexpr (std::is_enum_v<decltype(value)>) {
      j[name] = static_cast<std::underlying_type_t<decltype(value)>>(value);
    } else {
      j[name] = value;
    }
  });
  return j;
}

Header header_from_json(const json& j) {
  Header h;
  for_each_field(h, [&](const char* name, auto& value) {
    using Value = std::remove_reference_t<decltype(value)>;
    if constexpr (std::is_enum_v<Value>) {
      value = static_cast<Value>(j.at(name).get<std::underlying_type_t<Value>>());
    } else {
      value = j.at(name).get<Value>();
    }
  });
  return h;
}

json to_json(const OpDescription& d) {
  return {{"total_elements", d.total_elements},
          {"rank", d.rank},
          {"element_count", d.element_count},
          {"dtype", static_cast<int>(d.dtype)},
          {"reduce_op", static_cast<int>(d.reduce_op)},
          {"collective", static_cast<int>(d.collective)},
          {"last", d.last ? 1 : 0},
          {"target", d.target},
          {"scale_exponent", d.scale_exponent},
          {"encoding", static_cast<int>(d.encoding)}};
}

OpDescription op_from_json(const json& j) {
  return {j.at("total_elements").get<std::uint64_t>(),
          j.at("rank").get<std::uint32_t>(),
          j.at("element_count").get<std::uint16_t>(),
          static_cast<DType>(j.at("dtype").get<int>()),
          static_cast<ReduceOp>(j.at("reduce_op").get<int>()),
          static_cast<Collective>(j.at("collective").get<int>()),
          j.at("last").get<int>() != 0,
          static_cast<Encoding>(j.at("encoding").get<int>()),
          j.at("scale_exponent").get<std::int16_t>(),
          j.at("target").get<std::uint16_t>()};
}

// Every extension that version 1 gives a layout, by the names Scapy's classes use too.
json extensions_to_json(std::span<const std::byte> area) {
  json j = json::object();
  if (find_extension(area, ExtensionType::missing_ids)) {
    std::array<std::uint32_t, 254> ids{};
    const std::size_t n = find_missing_ids(area, ids);
    j["missing_ids"] = {{"ids", std::vector<std::uint32_t>(ids.begin(), ids.begin() + n)}};
  }
  if (const auto i = find_task_information(area))
    j["task_information"] = {
        {"total_elements", i->total_elements}, {"workers", i->workers}, {"nodes", i->nodes}};
  if (const auto i = find_result_info(area))
    j["result_info"] = {{"window", i->window},
                        {"effective_from_seq", i->effective_from_seq},
                        {"host_term", i->host_term},
                        {"seed_generation", i->seed_generation}};
  if (const auto e = find_op_error(area))
    j["error"] = {{"expected", to_json(e->expected)}, {"got", to_json(e->got)}};
  if (const auto n = find_nonce(area)) j["nonce"] = {{"nonce", *n}};
  if (const auto s = find_start_info(area))
    j["start_info"] = {{"window", s->window},
                       {"chunk_bytes", s->chunk_bytes},
                       {"workers", s->workers},
                       {"lease_ms", s->lease_ms},
                       {"group_ipv4", s->group_ipv4},
                       {"shards", s->shards},
                       {"integrity", s->integrity},
                       {"udp_base_port", s->udp_base_port},
                       {"completion_host", s->completion_host},
                       {"host_term", s->host_term},
                       {"partials", s->partials},
                       {"order", s->order},
                       {"arithmetic", s->arithmetic},
                       {"notify", s->notify},
                       {"further_planes", s->planes - 1}};
  if (const auto d = find_drain(area))
    j["drain"] = {{"step", d->step}, {"id", d->id}, {"op", d->op}, {"by", d->by}};
  if (const auto n = find_name(area)) j["name"] = {{"text", *n}};
  if (const auto v = find_value_info(area))
    j["value_info"] = {{"digest", v->digest},
                       {"bytes", v->bytes},
                       {"segments", v->segments},
                       {"whole", v->whole},
                       {"lifetime_ms", v->lifetime_ms}};
  if (const std::uint64_t run = find_run_id(area)) j["run_id"] = {{"run_id", run}};
  if (const auto e = find_extension(area, ExtensionType::open_job))
    if (const auto o = read_open_job(*e))
      j["open_job"] = {{"units", o->units},
                       {"nodes", o->nodes},
                       {"window", o->window},
                       {"chunk_bytes", o->chunk_bytes}};
  if (const auto r = find_target_rank(area)) j["target_rank"] = {{"rank", *r}};
  if (find_extension(area, ExtensionType::crc32c)) j["crc32c"] = json::object();
  return j;
}

bool add_extension(ExtensionWriter& w, const std::string& name, const json& j) {
  if (name == "missing_ids")
    return w.add_missing_ids(j.at("ids").get<std::vector<std::uint32_t>>());
  if (name == "nonce") return w.add_nonce(j.at("nonce").get<std::uint64_t>());
  if (name == "crc32c") return w.add_crc32c_placeholder();
  if (name == "task_information")
    return w.add(TaskInformation{j.at("total_elements"), j.at("workers"), j.at("nodes")});
  if (name == "result_info")
    return w.add(ResultInfo{j.at("window"), j.at("effective_from_seq"), j.at("host_term"),
                            j.at("seed_generation")});
  if (name == "error")
    return w.add(OpError{op_from_json(j.at("expected")), op_from_json(j.at("got"))});
  if (name == "start_info")
    return w.add(StartInfo{j.at("window"), j.at("chunk_bytes"), j.at("workers"), j.at("lease_ms"),
                           j.at("group_ipv4"), j.at("shards"), j.at("integrity"),
                           j.at("udp_base_port"), j.at("completion_host"), j.at("host_term"),
                           j.at("partials"), j.at("order"), j.at("arithmetic"), j.at("notify"),
                           j.at("further_planes").get<std::uint32_t>() + 1});
  if (name == "target_rank") return w.add_target_rank(j.at("rank"));
  if (name == "drain")
    return add_drain(w, {static_cast<DrainStep>(j.at("step").get<std::uint16_t>()), j.at("id"),
                         j.at("op"), j.at("by")});
  if (name == "name") return add_name(w, j.at("text").get<std::string>());
  if (name == "value_info")
    return add_value_info(
        w, {j.at("digest"), j.at("bytes"), j.at("segments"), j.at("whole"), j.at("lifetime_ms")});
  if (name == "run_id") return w.add_run_id(j.at("run_id").get<std::uint64_t>());
  if (name == "open_job")
    return add_open_job(w, {j.at("units"), j.at("nodes"), j.at("window"), j.at("chunk_bytes")});
  if (name == "raw") return w.add_raw(j.at("type_byte"), j.at("inline"), from_hex(j.at("data")));
  throw std::runtime_error("unknown extension '" + name + "'");
}

json drop(const char* layer, DropReason reason) {
  return {{"drop", drop_label(reason)}, {"at", layer}};
}

MacAddress mac_from_json(const json& j) {
  const auto bytes = from_hex(j.get<std::string>());
  if (bytes.size() != 6) throw std::runtime_error("a MAC address has 6 bytes");
  MacAddress mac;
  for (std::size_t i = 0; i < 6; ++i) mac[i] = static_cast<std::uint8_t>(bytes[i]);
  return mac;
}

}  // namespace

std::vector<std::byte> from_hex(const std::string& hex) {
  if (hex.size() % 2 != 0) throw std::runtime_error("odd number of hex digits");
  std::vector<std::byte> bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const std::byte b : bytes) {
    hex += kDigits[static_cast<std::uint8_t>(b) >> 4];
    hex += kDigits[static_cast<std::uint8_t>(b) & 15];
  }
  return hex;
}

json describe_frame(std::span<const std::byte> frame) {
  const auto ethernet = parse_ethernet(frame);
  if (const auto* bad = std::get_if<DropReason>(&ethernet)) return drop("ethernet", *bad);
  const auto& eth = std::get<EthernetView>(ethernet);
  if (eth.ether_type != kEtherTypeIpv4) return {{"not", "ipv4"}};
  const auto ip = parse_udp4(eth.payload);
  if (const auto* bad = std::get_if<DropReason>(&ip)) return drop("udp4", *bad);
  const auto& udp = std::get<std::optional<Udp4View>>(ip);
  if (!udp) return {{"not", "udp"}};
  const auto parsed = parse(udp->payload);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) return drop("header", *bad);
  const auto& packet = std::get<Packet>(parsed);
  if (const DropReason bad = check_integrity(*udp, packet); bad != DropReason::none)
    return drop("integrity", bad);

  return {{"destination", to_hex(std::as_bytes(std::span(eth.destination)))},
          {"source", to_hex(std::as_bytes(std::span(eth.source)))},
          {"vlan_tci", eth.vlan_tci ? json(*eth.vlan_tci) : json()},
          {"source_ip", udp->endpoints.source_ip},
          {"destination_ip", udp->endpoints.destination_ip},
          {"source_port", udp->endpoints.source_port},
          {"destination_port", udp->endpoints.destination_port},
          {"udp_checksum", udp->checksum != 0},
          {"congestion_experienced", udp->congestion_experienced},
          {"header", header_to_json(packet.header)},
          {"extensions", extensions_to_json(packet.extensions)},
          {"payload", to_hex(packet.payload)}};
}

std::vector<std::byte> build_frame(const json& d) {
  FrameTemplate t;
  t.destination = mac_from_json(d.at("destination"));
  t.source = mac_from_json(d.at("source"));
  if (!d.at("vlan_tci").is_null()) t.vlan_tci = d.at("vlan_tci").get<std::uint16_t>();
  t.endpoints = {d.at("source_ip"), d.at("destination_ip"), d.at("source_port"),
                 d.at("destination_port")};
  t.dscp_ecn = d.at("congestion_experienced").get<bool>() ? 3 : 0;
  t.udp_checksum = d.at("udp_checksum").get<bool>();

  std::array<std::byte, kMaxExtensionBytes> area;
  ExtensionWriter writer(area);
  // An array keeps the order of the extensions; a JSON object would sort them.
  for (const auto& entry : d.at("extension_list")) {
    if (!add_extension(writer, entry.at(0), entry.at(1)))
      throw std::runtime_error("extensions do not fit");
  }
  const auto payload = from_hex(d.at("payload"));
  const std::size_t start = frame_header_bytes(t);
  const std::size_t packet_bytes = serialized_bytes(writer.bytes().size()) + payload.size();
  std::vector<std::byte> frame(start + packet_bytes);
  const auto packet = std::span(frame).subspan(start);
  const std::size_t at = serialize(header_from_json(d.at("header")), writer.bytes(), packet);
  if (at == 0) throw std::runtime_error("header does not fit");
  std::copy(payload.begin(), payload.end(), packet.begin() + static_cast<std::ptrdiff_t>(at));
  seal_crc32c(packet);
  if (write_frame_headers(t, frame, packet_bytes) != frame.size())
    throw std::runtime_error("frame does not fit");
  return frame;
}

}  // namespace tributary::golden
