// Fragments of strangers, through parser and table into datagrams: the same bytes as by a model
// that writes each fragment into an array of its own, nothing held beyond the limit, everything
// counted. And a packet that is cut is, put together again, that packet.
#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "core/net/fragment.h"
#include "dataplane/frame/fragment_table.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/repair.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

using dataplane::DatagramKey;
using dataplane::FragmentTable;

constexpr std::uint32_t kDatagrams = 4;
constexpr std::size_t kMost = 520;
constexpr Duration kTimeout = Duration::ms(10);

struct Model {
  std::array<bool, kMost + 8> there{};
  std::size_t end = 0;
  std::size_t reach = 0;
  std::uint32_t fragments = 0;
  std::uint64_t order = 0;
  Instant opened;
};

class Twin {
 public:
  void add(const DatagramKey& key, const wire::Fragment4View& f, Instant now) {
    const std::size_t offset = f.offset;
    const std::size_t bytes = f.payload.size();
    const auto out = table_.add(key, offset, bytes, f.more, now);
    if (bytes == 0 || (f.more && bytes % 8 != 0))
      FUZZ_CHECK(out.reason == DropReason::fragment_malformed);
    else if (offset + bytes > kMost)
      FUZZ_CHECK(out.reason == DropReason::fragment_too_large);
    else
      follow(id_of(key), offset, bytes, f.more, now, out);
    FUZZ_CHECK(table_.open() == open_.size() && open_.size() <= kDatagrams);
  }

  void expire(Instant now) {
    while (const auto late = table_.expire(now)) {
      const auto oldest = find_oldest();
      FUZZ_CHECK(now - oldest->second.opened >= kTimeout);
      FUZZ_CHECK(late->fragments == oldest->second.fragments);
      open_.erase(oldest);
    }
    FUZZ_CHECK(open_.empty() || now - find_oldest()->second.opened < kTimeout);
  }

 private:
  using Id = std::tuple<std::uint32_t, std::uint32_t, std::uint16_t, std::uint8_t>;
  static Id id_of(const DatagramKey& k) {
    return {k.source_ip, k.destination_ip, k.id, k.protocol};
  }
  std::map<Id, Model>::iterator find_oldest() {
    return std::min_element(open_.begin(), open_.end(), [](const auto& a, const auto& b) {
      return a.second.order < b.second.order;
    });
  }

  void follow(const Id& id, std::size_t offset, std::size_t bytes, bool more, Instant now,
              const FragmentTable::Outcome& out) {
    auto at = open_.find(id);
    FUZZ_CHECK(out.opened == (at == open_.end()));
    FUZZ_CHECK(out.evicted.has_value() == (out.opened && open_.size() == kDatagrams));
    if (out.evicted) {
      FUZZ_CHECK(out.evicted->fragments == find_oldest()->second.fragments);
      open_.erase(find_oldest());
    }
    if (out.opened) {
      at = open_.emplace(id, Model{}).first;
      at->second.opened = now;
      at->second.order = next_order_++;
    }
    Model& m = at->second;
    const std::size_t end = offset + bytes;
    const auto first = m.there.begin() + static_cast<long>(offset);
    const auto last = m.there.begin() + static_cast<long>((end + 7) / 8 * 8);
    const auto held = std::count(first, last, true);
    const bool bad_end =
        more ? m.end != 0 && end >= m.end : (m.end != 0 && m.end != end) || m.reach > end;
    if (bad_end || (held != 0 && held != last - first)) {
      FUZZ_CHECK(out.reason == DropReason::fragment_overlap);
      FUZZ_CHECK(out.refused && out.refused->fragments == m.fragments);
      open_.erase(at);
      return;
    }
    if (held == last - first) {
      FUZZ_CHECK(out.reason == DropReason::fragment_duplicate);
      return;
    }
    FUZZ_CHECK(out.reason == DropReason::none && !out.refused && out.place < kDatagrams);
    std::fill(first, last, true);
    ++m.fragments;
    m.reach = std::max(m.reach, end);
    if (!more) m.end = end;
    const bool whole =
        m.end != 0 && std::all_of(m.there.begin(), m.there.begin() + static_cast<long>(m.end),
                                  [](bool b) { return b; });
    FUZZ_CHECK(out.done == (whole ? m.end : 0));
    if (whole) open_.erase(at);
  }

  FragmentTable table_{kDatagrams, kTimeout, kMost, 1};
  std::map<Id, Model> open_;
  std::uint64_t next_order_ = 0;
};

void strangers(Input& in) {
  Twin twin;
  Instant now;
  while (!in.empty()) {
    now = now + Duration::us(in.below(4096));
    std::vector<std::byte> packet = in.block(in.between(0, 120));
    if (packet.size() >= 20 && in.flag()) {
      packet[0] = std::byte{0x45};
      packet[2] = std::byte{0};
      packet[3] = static_cast<std::byte>(packet.size());
    }
    repair_ipv4(packet);
    twin.expire(now);
    wire::Fragment4View f;
    if (wire::parse_fragment4(packet, f) != DropReason::none) continue;
    FUZZ_CHECK(wire::is_fragment4(packet) && !wire::may_be_cut(packet));
    FUZZ_CHECK(f.offset % 8 == 0 && (f.more || f.offset != 0));
    FUZZ_CHECK(f.payload.data() == packet.data() + 20 && f.payload.size() + 20 <= packet.size());
    twin.add({.source_ip = f.source_ip,
              .destination_ip = f.destination_ip,
              .id = f.id,
              .protocol = f.protocol,
              .vlan_tci = std::nullopt,
              .source = {}},
             f, now);
  }
}

void cut_and_join(Input& in) {
  const std::size_t mtu = in.between(28, 300);
  const std::uint16_t id = in.u16();
  std::vector<std::byte> packet = in.block(20 + in.between(1, 500));
  packet[0] = std::byte{0x45};
  packet[1] &= std::byte{0xFC};
  packet[2] = static_cast<std::byte>(packet.size() >> 8);
  packet[3] = static_cast<std::byte>(packet.size());
  packet[4] = static_cast<std::byte>(id >> 8);
  packet[5] = static_cast<std::byte>(id);
  packet[6] = packet[7] = std::byte{0};
  packet[9] = std::byte{99};
  repair_ipv4(packet);
  FUZZ_CHECK(wire::may_be_cut(packet));
  FragmentTable table(1, kTimeout, kMost, 1);
  std::vector<std::byte> whole(packet.size());
  const std::size_t bytes = packet.size() - 20;
  const std::size_t each = wire::fragment_bytes(mtu);
  for (std::size_t at = 0; at < bytes; at += each) {
    std::vector<std::byte> piece(mtu);
    piece.resize(wire::write_fragment4(packet, id, at, std::min(each, bytes - at), piece));
    FUZZ_CHECK(piece.size() <= mtu && plain_sum(std::span(piece).first(20)) == 0xFFFF);
    if (each >= bytes) return;  // it is no fragment
    wire::Fragment4View f;
    FUZZ_CHECK(wire::parse_fragment4(piece, f) == DropReason::none);
    if (at == 0) std::copy_n(piece.begin(), 20, whole.begin());
    std::copy(f.payload.begin(), f.payload.end(), whole.begin() + 20 + f.offset);
    const auto out = table.add({.id = f.id, .vlan_tci = std::nullopt}, f.offset, f.payload.size(),
                               f.more, Instant());
    FUZZ_CHECK(out.done == (at + each >= bytes ? bytes : 0));
  }
  wire::join_fragments4(whole, false);
  FUZZ_CHECK(whole == packet);
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tributary::fuzz;
  Input in(data, size);
  if (in.flag())
    cut_and_join(in);
  else
    strangers(in);
  return 0;
}
