// IGMP and MLD messages of strangers: what is read lies within the frame and is of groups, and the
// table behind it is bounded, as a list that is searched from end to end.
#include <algorithm>
#include <optional>
#include <vector>

#include "dataplane/multicast/group_message.h"
#include "dataplane/multicast/group_table.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using dataplane::GroupKind;
using dataplane::GroupTable;

constexpr std::uint32_t kCapacity = 8;
constexpr std::size_t kLeastRecord = 8;  // bytes of a report that one takes

struct Member {
  wire::MacAddress group;
  Instant until;
};

void check(const std::vector<std::byte>& frame, GroupTable& table, std::vector<Member>& model,
           Instant now) {
  const auto parsed = wire::parse_ethernet(frame);
  const auto* view = std::get_if<wire::EthernetView>(&parsed);
  if (view == nullptr) return;
  const auto message = dataplane::read_group_message(*view, true);
  const auto in_pieces = dataplane::read_group_message(*view, false);
  FUZZ_CHECK((message.kind == GroupKind::none) == (in_pieces.kind == GroupKind::none));
  FUZZ_CHECK(in_pieces.kind == GroupKind::none || in_pieces.kind == GroupKind::malformed);
  std::size_t count = 0;
  dataplane::GroupRecords records(message);
  for (dataplane::GroupRecord record; records.next(record); ++count) {
    FUZZ_CHECK(wire::is_multicast(record.group));
    FUZZ_CHECK(record.group[0] == (message.ipv6 ? 0x33 : 0x01));
    const auto known = std::find_if(model.begin(), model.end(),
                                    [&](const Member& m) { return m.group == record.group; });
    const Instant later = now + Duration::seconds(10);
    if (record.wanted) {
      table.join(record.group, 1, 3, later);
      if (known != model.end())
        known->until = later;
      else if (model.size() < kCapacity)
        model.push_back({record.group, later});
    } else {
      const Instant soon = now + Duration::seconds(1);
      table.leave(record.group, 1, 3, soon);
      if (known != model.end()) known->until = std::min(known->until, soon);
    }
    const auto at = std::find_if(model.begin(), model.end(),
                                 [&](const Member& m) { return m.group == record.group; });
    const bool wanted = at != model.end() && now < at->until;
    FUZZ_CHECK(table.lookup(record.group, 1, now).has_value() == wanted);
  }
  FUZZ_CHECK(message.kind == GroupKind::report || count == 0);
  FUZZ_CHECK(count <= message.most_records());
  FUZZ_CHECK(count * kLeastRecord <= frame.size());
  FUZZ_CHECK(table.counters().groups.get() == model.size() && model.size() <= kCapacity);
}

// Sets the checksums of what may be IGMP or MLD, so that what lies behind them is reached.
void repair_message(std::vector<std::byte>& frame) {
  const auto parsed = wire::parse_ethernet(frame);
  const auto* view = std::get_if<wire::EthernetView>(&parsed);
  if (view == nullptr) return;
  const auto packet = std::span(frame).last(view->payload.size());
  const auto fix = [&](std::span<std::byte> body, std::size_t at, std::uint32_t more) {
    body[at] = body[at + 1] = std::byte{0};
    std::uint32_t sum = more + plain_sum(body);
    while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
    put_sum(body.subspan(at), sum);
  };
  if (view->ether_type == wire::kEtherTypeIpv4 && packet.size() >= 28) {
    const std::size_t header = (byte_at(packet, 0) & 15u) * 4;
    const std::size_t total = byte_at(packet, 2) * 256u + byte_at(packet, 3);
    if (header < 20 || total < header + 8 || total > packet.size()) return;
    fix(packet.first(header), 10, 0);
    fix(packet.subspan(header, total - header), 2, 0);
  }
  if (view->ether_type == 0x86DD && packet.size() >= 56) {
    const std::size_t total = 40 + byte_at(packet, 4) * 256u + byte_at(packet, 5);
    const std::size_t options = (byte_at(packet, 41) + 1u) * 8;
    if (total > packet.size() || total < 40 + options + 8) return;
    const auto body = packet.subspan(40 + options, total - 40 - options);
    fix(body, 2, plain_sum(packet.subspan(8, 32)) + static_cast<std::uint32_t>(body.size()) + 58);
  }
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary;
  const auto input = fuzz::as_bytes(data, size);
  dataplane::GroupTable table(fuzz::kCapacity, 1);
  std::vector<fuzz::Member> model;
  std::vector<std::byte> frame(input.begin(), input.end());
  fuzz::check(frame, table, model, Instant());
  fuzz::repair_message(frame);
  fuzz::check(frame, table, model, Instant() + Duration::seconds(5));
  fuzz::check(frame, table, model, Instant() + Duration::seconds(20));
  table.expire(Instant() + Duration::seconds(60), fuzz::kCapacity);
  FUZZ_CHECK(table.counters().groups.get() == 0);
  return 0;
}
