#include "tools/loadgen/traffic/l2_traffic.h"

#include <algorithm>
#include <cstring>

#include "core/net/byte_order.h"

namespace tributary::loadgen {
namespace {

struct Label {
  wire::be64 serial;
  wire::be32 from;
  wire::be32 to;
};

constexpr std::uint32_t kEverybody = ~std::uint32_t{0};

// Byte i of what follows the label; `hash` is of the serial number.
std::byte filling(std::uint64_t hash, std::size_t i) {
  return static_cast<std::byte>((hash >> (8 * (i % 8))) + i);
}

}  // namespace

L2Traffic::L2Traffic(std::uint32_t stations, std::size_t ports, std::size_t frame_bytes,
                     std::uint64_t seed)
    : stations_(stations),
      ports_(ports),
      frame_bytes_(std::max(frame_bytes, kLeastFrame)),
      random_(seed) {}

wire::MacAddress L2Traffic::mac(std::uint32_t station) {
  return {0x02,
          0x4C,
          static_cast<std::uint8_t>(station >> 24),
          static_cast<std::uint8_t>(station >> 16),
          static_cast<std::uint8_t>(station >> 8),
          static_cast<std::uint8_t>(station)};
}

std::uint32_t L2Traffic::random_behind(std::size_t port) {
  const auto ports = static_cast<std::uint32_t>(ports_);
  const auto first = static_cast<std::uint32_t>(port);
  const std::uint32_t behind = (stations_ - first + ports - 1) / ports;
  return first + ports * random_.below(behind);
}

void L2Traffic::announce(std::uint32_t station, FrameSink& out) {
  write(station, kEverybody, {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, out);
}

void L2Traffic::send(std::size_t port, FrameSink& out) {
  const auto others = static_cast<std::uint32_t>(ports_ - 1);
  const std::size_t there = (port + 1 + random_.below(others)) % ports_;
  const std::uint32_t to = random_behind(there);
  write(random_behind(port), to, mac(to), out);
}

void L2Traffic::write(std::uint32_t from, std::uint32_t to, const wire::MacAddress& destination,
                      FrameSink& out) {
  const std::span<std::byte> frame = out.frame();
  if (frame.size() < frame_bytes_) return;
  const wire::MacAddress source = mac(from);
  const wire::be16 type = kEtherType;
  const Label label{++serial_, from, to};
  std::memcpy(frame.data(), destination.data(), destination.size());
  std::memcpy(frame.data() + 6, source.data(), source.size());
  std::memcpy(frame.data() + 12, &type, sizeof type);
  std::memcpy(frame.data() + wire::kEthernetBytes, &label, sizeof label);
  constexpr std::size_t kHead = wire::kEthernetBytes + sizeof label;
  const std::uint64_t hash = split_mix(serial_);
  for (std::size_t i = kHead; i < frame_bytes_; ++i) frame[i] = filling(hash, i - kHead);
  out.commit(frame_bytes_);
  if (to != kEverybody) ++counts_.sent;
}

void L2Traffic::on_frame(std::size_t port, const wire::EthernetView& frame) {
  Label label;
  if (frame.payload.size() + wire::kEthernetBytes < frame_bytes_) {
    ++counts_.damaged;
    return;
  }
  std::memcpy(&label, frame.payload.data(), sizeof label);
  const std::span<const std::byte> rest =
      frame.payload.first(frame_bytes_ - wire::kEthernetBytes).subspan(sizeof label);
  bool good = label.from < stations_ && frame.source == mac(label.from);
  const std::uint64_t hash = split_mix(label.serial);
  for (std::size_t i = 0; i < rest.size(); ++i) good = good && rest[i] == filling(hash, i);
  if (label.to == kEverybody) {
    if (!good) ++counts_.damaged;
    return;
  }
  good = good && label.to < stations_ && frame.destination == mac(label.to);
  if (!good)
    ++counts_.damaged;
  else if (port_of(label.to) == port)
    ++counts_.received;
  else
    ++counts_.elsewhere;
}

}  // namespace tributary::loadgen
