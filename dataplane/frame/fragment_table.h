// Datagrams that are being reassembled, and the parts of each that have arrived.
//
//   fragment ─▶ opens a datagram, or finds its own ─▶ fills its place ─▶ all of it there: done
//                    │ no room: the oldest gives way        └─ contradicts another: given up
//                    └ not whole in time: given up
//
// Pure; the holder of the bytes (dataplane/udp/datagrams.h) is told where they belong. Memory is
// taken at construction. A flood evicts the oldest datagrams: fragments of one sender follow each
// other closely, so datagrams that can be finished are, and stale ones are evicted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/drop_reason.h"
#include "core/index_list.h"
#include "core/net/frame.h"
#include "core/time.h"

namespace tributary::dataplane {

// Identifies the fragments of one datagram. The MAC address and VLAN are part of it, so a sender
// elsewhere that forges the IP addresses has a datagram of its own.
struct DatagramKey {
  std::uint32_t source_ip = 0;
  std::uint32_t destination_ip = 0;
  std::uint16_t id = 0;
  std::uint8_t protocol = 0;
  std::optional<std::uint16_t> vlan_tci;
  wire::MacAddress source{};

  bool operator==(const DatagramKey&) const = default;
};

// The same for all fragments of a datagram, and not to be foreseen without the seed.
std::uint64_t hash_of(const DatagramKey& key, std::uint64_t seed);

class FragmentTable {
 public:
  // `most_bytes` of a datagram.
  FragmentTable(std::uint32_t datagrams, Duration timeout, std::size_t most_bytes,
                std::uint64_t seed);

  // A datagram that will not be finished: its place, and how many fragments had come.
  struct GivenUp {
    std::uint32_t place = 0;
    std::uint32_t fragments = 0;
  };
  struct Outcome {
    DropReason reason = DropReason::none;  // of this fragment; none: it belongs to `place`
    std::uint32_t place = 0;               // below `datagrams`
    bool opened = false;                   // it is the first
    std::size_t done = 0;                  // it was the last one: bytes of the whole datagram
    std::optional<GivenUp> evicted;        // to make room, before this one was taken
    std::optional<GivenUp> refused;        // because this one contradicts it
  };
  Outcome add(const DatagramKey& key, std::size_t offset, std::size_t bytes, bool more,
              Instant now);
  // The oldest one whose time is over, if there is any; it is given up.
  std::optional<GivenUp> expire(Instant now);
  // The oldest one.
  std::optional<GivenUp> give_up_oldest();
  // One that is open.
  void give_up(std::uint32_t place) { close(place); }

  [[nodiscard]] std::size_t open() const { return open_; }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  struct Datagram {
    DatagramKey key;
    Instant opened;
    std::uint32_t next = kNone;  // in its bucket, or among the free ones
    std::uint32_t older = kNone;
    std::uint32_t younger = kNone;
    std::uint32_t fragments = 0;
    std::size_t filled = 0;  // bytes
    std::size_t end = 0;     // where the last fragment ends; 0: it has not come
    std::size_t reach = 0;   // where the furthest one ends
  };
  enum class Overlap : std::uint8_t { none, some, all };

  [[nodiscard]] std::uint32_t find(const DatagramKey& key) const;
  std::uint32_t begin(const DatagramKey& key, Instant now);
  GivenUp close(std::uint32_t place);
  // Compares the words from `offset` on with those that are filled already.
  [[nodiscard]] Overlap look(std::uint32_t place, std::size_t offset, std::size_t bytes) const;
  void fill(std::uint32_t place, std::size_t offset, std::size_t bytes);
  [[nodiscard]] static bool contradicts(const Datagram& d, std::size_t end, bool more);
  [[nodiscard]] std::uint32_t& bucket(const DatagramKey& key);

  Duration timeout_;
  std::size_t most_bytes_;
  std::uint64_t seed_;
  std::size_t words_each_;  // of filled_
  std::vector<Datagram> datagrams_;
  std::vector<std::uint32_t> buckets_;
  std::vector<std::uint64_t> filled_;  // a bit for each eight bytes
  std::uint32_t free_ = kNone;
  IndexList<Datagram, &Datagram::older, &Datagram::younger> by_age_;
  std::size_t open_ = 0;
};

}  // namespace tributary::dataplane
