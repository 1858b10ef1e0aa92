#include "tools/telemetryd/admission.h"

#include <algorithm>
#include <utility>

#include "telemetry/wire/bytes.h"

namespace tributary::telemetryd {

const char* name_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::unregistered: break;
    case Refusal::wrong_interface: return "wrong-interface";
    case Refusal::unsigned_report: return "unsigned";
    case Refusal::forged: return "forged";
    case Refusal::stale: return "stale";
    case Refusal::replayed: return "replayed";
  }
  return "unregistered";
}

Admission::Admission(Registered switches, std::shared_ptr<const control::ReportKey> key)
    : switches_(std::move(switches)), key_(std::move(key)) {
  needs_interfaces_ = std::any_of(switches_.begin(), switches_.end(),
                                  [](const auto& one) { return !one.second.interface.empty(); });
  for (const auto& [node, registration] : switches_) guards_.try_emplace(node);
}

Judged Admission::judge(std::span<const std::byte> datagram, const Origin& origin) {
  if (datagram.size() < telemetry::kGroupBytes) return {{}, Refusal::unregistered};
  const auto found = switches_.find(telemetry::load<std::uint32_t>(datagram, 4));
  if (found == switches_.end() || found->second.address != origin.address)
    return {{}, Refusal::unregistered};
  const std::string& interface = found->second.interface;
  if (!interface.empty() && interface != origin.interface) return {{}, Refusal::wrong_interface};
  if (!key_) return {datagram, {}};
  const auto signed_one = telemetry::read_trailer(datagram);
  if (!signed_one) return {{}, Refusal::unsigned_report};
  if (!key_->has_signed(*signed_one)) return {{}, Refusal::forged};
  switch (guards_.at(found->first).note(signed_one->sequence, origin.unix_ns)) {
    case telemetry::Freshness::stale: return {{}, Refusal::stale};
    case telemetry::Freshness::replayed: return {{}, Refusal::replayed};
    case telemetry::Freshness::fresh: break;
  }
  return {signed_one->reports, {}};
}

}  // namespace tributary::telemetryd
