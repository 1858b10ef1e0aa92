// Forwarding database: which port leads to a MAC address, per VLAN.
//
//   learn ──▶ entry of its port's list, newest last ──ageing, lost link──▶ gone
//               │ seen on another port: moves                              ▲
//               └── table full: the port with most entries loses its oldest┘
//
// Bounded, all memory taken at construction. Eviction is fair: a port that invents addresses
// pushes out its own, not those of others. Static addresses count for every VLAN, never age,
// never move. An address that moves again and again has two owners, or its network a loop: that is
// counted. One thread owns it: the lcore that forwards.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/counter.h"
#include "core/index_list.h"
#include "core/net/frame.h"
#include "core/time.h"
#include "dataplane/frame/mac_index.h"

namespace tributary::dataplane {

struct FdbRow {
  wire::MacAddress mac{};
  std::uint16_t vlan = 0;
  std::uint16_t port = 0;
  bool is_static = false;
  Duration age;
};

// Selects the rows that a reader asks for; an absent field matches all.
struct FdbFilter {
  std::optional<std::uint16_t> vlan;
  std::optional<std::uint16_t> port;
};

class Fdb {
 public:
  static constexpr std::uint32_t kFlapMoves = 5;
  static constexpr Duration kFlapWindow = Duration::seconds(10);

  // Capacity is a power of two. `seed` makes the hash unpredictable to senders.
  Fdb(std::uint32_t capacity, Duration ageing, std::size_t ports, std::uint64_t seed);

  // So many ports, or more; of config::kMaxPorts at most.
  void use_ports(std::size_t ports);
  void set_ageing(Duration ageing) { ageing_ = ageing; }
  // Entries that the port may have; 0: no limit.
  void limit(std::uint16_t port, std::uint32_t entries) { lists_[port].limit = entries; }
  // Addresses that do not move, on every VLAN.
  struct Statics {
    std::unordered_map<std::uint64_t, std::uint16_t> ports;  // by mac_bits()
    std::vector<std::uint64_t> unclean;  // of these, what may have been learned before
    void add(const wire::MacAddress& mac, std::uint16_t port);
  };
  [[nodiscard]] const Statics& statics() const { return statics_; }
  // Exchanges the static addresses. Learned entries of the new static addresses are removed by the
  // next calls of expire(), a few addresses each.
  void swap_statics(Statics& statics);
  // False: nothing was learned, as the address is static, or the port has as many as it may.
  bool learn(const wire::MacAddress& mac, std::uint16_t vlan, std::uint16_t port, Instant now);
  [[nodiscard]] bool has_statics() const { return !statics_.ports.empty(); }
  // The address of a key (mac_key.h) is static, and on another port.
  [[nodiscard]] bool is_elsewhere(std::uint64_t key, std::uint16_t port) const {
    const std::uint16_t known = static_port_of(key);
    return known != kNoPort && known != port;
  }
  [[nodiscard]] std::optional<std::uint16_t> lookup(const wire::MacAddress& mac, std::uint16_t vlan,
                                                    Instant now) const {
    const std::uint16_t port = port_of(mac_key(mac, vlan), now);
    return port == kNoPort ? std::nullopt : std::optional(port);
  }
  // The same for the packet path, of a key of mac_key.h; kNoPort: nowhere. An optional would be
  // written in two parts, and read in one that waits for both.
  static constexpr std::uint16_t kNoPort = 0xFFFF;
  [[nodiscard]] std::uint16_t port_of(std::uint64_t key, Instant now) const {
    const std::uint32_t index = entries_.find(key);
    if (index != kNone && now - entries_[index].seen < ageing_) return entries_[index].port;
    return statics_.ports.empty() ? kNoPort : static_port_of(key);
  }
  // Where and when it was learned last, old or not; nullopt: it is not known.
  struct Seen {
    std::uint16_t port = 0;
    Instant at;
  };
  [[nodiscard]] std::optional<Seen> seen(const wire::MacAddress& mac, std::uint16_t vlan) const {
    return seen(mac_key(mac, vlan));
  }
  [[nodiscard]] std::optional<Seen> seen(std::uint64_t key) const {  // of mac_key.h
    const std::uint32_t index = entries_.find(key);
    if (index == kNone) return std::nullopt;
    return Seen{entries_[index].port, entries_[index].seen};
  }
  // Removes at most `most` aged entries, and some of what is static now; returns how many went.
  std::size_t expire(Instant now, std::size_t most);
  // Removes at most `most` entries of the port that were last seen before `since`.
  std::size_t forget(std::uint16_t port, Instant since, std::size_t most);

  // All there is. A large table takes longer than a packet loop has; see learned_rows().
  [[nodiscard]] std::vector<FdbRow> rows(Instant now) const;
  [[nodiscard]] std::uint32_t capacity() const {
    return static_cast<std::uint32_t>(entries_.entries().size());
  }
  // Learned addresses, a piece at a time: appends a row to `into` for each of the next `looks`
  // places of the table that passes the filter, and advances `place`, to capacity() at last. An
  // address that comes or goes between two pieces may be missing, or there twice.
  void learned_rows(std::uint32_t& place, std::uint32_t looks, const FdbFilter& filter, Instant now,
                    std::vector<FdbRow>& into) const;

  // Read by any thread.
  struct Counters {
    Counter entries;  // gauge, learned ones
    Counter learned;
    Counter moved;
    Counter aged;
    Counter forgotten;  // the link of their port went down
    Counter evicted;
    Counter limited;        // not learned: the port had as many as it may
    Counter last_flapping;  // address and VLAN (mac_key.h) of the last of those that follow
    Counter flapping;       // addresses that moved kFlapMoves times within kFlapWindow
  };
  [[nodiscard]] const Counters& counters() const { return counters_; }

 private:
  static constexpr std::uint32_t kNone = kNoEntry;
  static constexpr std::uint16_t kVlans = 4096;
  struct Entry {
    std::uint64_t key = 0;
    Instant seen;
    std::uint32_t hash_next = kNone;
    std::uint32_t older = kNone;
    std::uint32_t newer = kNone;
    std::uint16_t port = kNoPort;  // kNoPort: the place is free
    std::uint16_t moves = 0;       // since `moving_since`
    Instant moving_since;
  };
  struct PortList {
    IndexList<Entry, &Entry::older, &Entry::newer> entries;
    std::uint32_t count = 0;
    std::uint32_t limit = 0;
    [[nodiscard]] bool full() const { return limit != 0 && count >= limit; }
  };

  [[nodiscard]] std::uint16_t static_port_of(std::uint64_t key) const;
  std::size_t clean_statics();
  void unlink(std::uint32_t index);
  void append(std::uint32_t index, std::uint16_t port);
  void remove(std::uint32_t index);
  void evict_for(std::uint16_t port);
  void note_move(Entry& entry, Instant now);

  Duration ageing_;
  MacIndex<Entry> entries_;
  std::vector<PortList> lists_;
  Statics statics_;
  std::uint16_t unclean_vlan_ = 0;  // of the last of statics_.unclean: those before are clean
  Counters counters_;
};

}  // namespace tributary::dataplane
