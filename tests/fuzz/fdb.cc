// The forwarding database against a list that is searched from end to end.
#include <algorithm>
#include <optional>
#include <vector>

#include "dataplane/bridge/fdb.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/target.h"

namespace tributary::fuzz {
namespace {

constexpr std::size_t kPorts = 3;

// Learned entries in the order they were last seen; the same rules as dataplane/bridge/fdb.h
// states.
class Model {
 public:
  Model(std::size_t capacity, Duration ageing) : capacity_(capacity), ageing_(ageing) {}

  void learn(const wire::MacAddress& mac, std::uint16_t vlan, std::uint16_t port, Instant now) {
    const auto known = find(mac, vlan);
    if (known != entries_.end())
      entries_.erase(known);
    else if (entries_.size() == capacity_)
      evict_for(port);
    entries_.push_back({mac, vlan, port, now});
  }
  std::optional<std::uint16_t> lookup(const wire::MacAddress& mac, std::uint16_t vlan,
                                      Instant now) {
    const auto known = find(mac, vlan);
    if (known == entries_.end() || now - known->seen >= ageing_) return std::nullopt;
    return known->port;
  }
  // How many are due.
  [[nodiscard]] std::size_t aged(Instant now) const {
    return static_cast<std::size_t>(std::count_if(
        entries_.begin(), entries_.end(), [&](const Entry& e) { return now - e.seen >= ageing_; }));
  }
  void expire(Instant now) {
    std::erase_if(entries_, [&](const Entry& e) { return now - e.seen >= ageing_; });
  }
  std::size_t forget(std::uint16_t port, Instant since) {
    return std::erase_if(entries_,
                         [&](const Entry& e) { return e.port == port && e.seen < since; });
  }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    wire::MacAddress mac;
    std::uint16_t vlan;
    std::uint16_t port;
    Instant seen;
  };
  std::vector<Entry>::iterator find(const wire::MacAddress& mac, std::uint16_t vlan) {
    return std::find_if(entries_.begin(), entries_.end(),
                        [&](const Entry& e) { return e.mac == mac && e.vlan == vlan; });
  }
  [[nodiscard]] std::ptrdiff_t count(std::uint16_t port) const {
    return std::count_if(entries_.begin(), entries_.end(),
                         [&](const Entry& e) { return e.port == port; });
  }
  // The port with most entries loses its oldest; the newcomer's port if none has more.
  void evict_for(std::uint16_t port) {
    std::uint16_t victim = port;
    for (std::uint16_t p = 0; p < kPorts; ++p)
      if (count(p) > count(victim)) victim = p;
    entries_.erase(std::find_if(entries_.begin(), entries_.end(),
                                [&](const Entry& e) { return e.port == victim; }));
  }

  std::size_t capacity_;
  Duration ageing_;
  std::vector<Entry> entries_;
};

wire::MacAddress draw_mac(Input& in) {
  return {2, 0, 0, 0, 0, static_cast<std::uint8_t>(in.below(24))};
}

void check(Input& in) {
  const std::uint32_t capacity = 1u << in.below(4);
  const Duration ageing = Duration::ms(100);
  dataplane::Fdb fdb(capacity, ageing, kPorts, in.u64());
  Model model(capacity, ageing);
  Instant now;
  while (!in.empty()) {
    const auto mac = draw_mac(in);
    const auto vlan = static_cast<std::uint16_t>(in.below(2));
    const auto port = static_cast<std::uint16_t>(in.below(kPorts));
    switch (in.below(5)) {
      case 0:
      case 1:
        fdb.learn(mac, vlan, port, now);
        model.learn(mac, vlan, port, now);
        break;
      case 2: now = now + Duration::ms(in.below(60)); break;
      case 3: {
        const Instant since = now - std::min(Duration::ms(in.below(60)), now - Instant());
        FUZZ_CHECK(fdb.forget(port, since, capacity) == model.forget(port, since));
        break;
      }
      default: {
        const std::size_t due = model.aged(now);
        FUZZ_CHECK(fdb.expire(now, capacity) == due);
        model.expire(now);
      }
    }
    FUZZ_CHECK(fdb.lookup(mac, vlan, now) == model.lookup(mac, vlan, now));
    FUZZ_CHECK(fdb.counters().entries.get() == model.size() && model.size() <= capacity);
    FUZZ_CHECK(fdb.rows(now).size() == model.size());
  }
}

}  // namespace
}  // namespace tributary::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tributary::fuzz::Input in(data, size);
  tributary::fuzz::check(in);
  return 0;
}
