// Bad input: tens of thousands of broken packets, made from the golden ones, go through every
// parser. None may crash (run under AddressSanitizer too), and what is refused has a reason.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/net/frame.h"
#include "core/prng.h"
#include "core/wire/extension.h"
#include "core/wire/header.h"
#include "core/wire/integrity.h"
#include "tests/source_dir.h"

namespace tributary::wire {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<Bytes> golden_frames() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(tests::source_dir() + "/tests/golden/packets"))
    if (entry.path().extension() == ".hex") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());  // the same seed must give the same packets
  std::vector<Bytes> frames;
  for (const auto& path : paths) {
    std::ifstream file(path);
    std::string digits;
    for (std::string line; std::getline(file, line);) digits += line;
    Bytes frame;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
      frame.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
    frames.push_back(std::move(frame));
  }
  return frames;
}

// Reads everything that a receiver could ask of a parsed packet.
std::uint64_t touch(const Packet& p) {
  std::array<std::uint32_t, 300> ids{};
  std::uint64_t sum = find_missing_ids(p.extensions, ids) + p.header.seq;
  sum += find_start_info(p.extensions).has_value() ? 1 : 0;
  sum += find_task_information(p.extensions).has_value() ? 1 : 0;
  sum += find_op_error(p.extensions).has_value() ? 1 : 0;
  sum += find_result_info(p.extensions).has_value() ? 1 : 0;
  sum += find_nonce(p.extensions).value_or(0);
  for (const std::byte b : p.payload) sum += static_cast<std::uint8_t>(b);
  return sum;
}

// Up to the integrity check; none when the packet is accepted or is not ours.
DropReason receive(std::span<const std::byte> frame, std::uint64_t& sink) {
  const auto ethernet = parse_ethernet(frame);
  if (const auto* bad = std::get_if<DropReason>(&ethernet)) return *bad;
  const auto& eth = std::get<EthernetView>(ethernet);
  if (eth.ether_type != kEtherTypeIpv4) return DropReason::none;
  const auto ip = parse_udp4(eth.payload);
  if (const auto* bad = std::get_if<DropReason>(&ip)) return *bad;
  const auto& udp = std::get<std::optional<Udp4View>>(ip);
  if (!udp) return DropReason::none;
  const auto parsed = parse(udp->payload);
  if (const auto* bad = std::get_if<DropReason>(&parsed)) return *bad;
  const auto& packet = std::get<Packet>(parsed);
  const DropReason integrity = check_integrity(*udp, packet);
  sink += touch(packet);  // before the verdict: reading must be safe either way
  return integrity;
}

// Breaks a packet in 1 to 4 places. Mutations of the first 42 bytes rarely get past the IP
// checksum, so most go behind them.
void mutate(Bytes& frame, Prng& prng) {
  const std::uint32_t times = 1 + prng.below(4);
  for (std::uint32_t i = 0; i < times && !frame.empty(); ++i) {
    const auto size = static_cast<std::uint32_t>(frame.size());
    const std::uint32_t from =
        prng.below(4) != 0 && size > kUdpPayloadOffset ? kUdpPayloadOffset : 0;
    const std::uint32_t span = prng.below(2) != 0 ? std::min(size - from, 70u) : size - from;
    const std::uint32_t at = from + prng.below(span);
    switch (prng.below(6)) {
      case 0: frame[at] ^= static_cast<std::byte>(1u << prng.below(8)); break;
      case 1: frame[at] = static_cast<std::byte>(prng.next()); break;
      case 2: frame[at] = std::byte{0xFF}; break;
      case 3: frame[at] = std::byte{0}; break;
      case 4: frame.resize(prng.below(size + 1)); break;
      default: frame.insert(frame.end(), 1 + prng.below(64), std::byte{0xA5}); break;
    }
  }
}

// Makes the lengths and the checksums of IP and UDP right again, so that the mutation reaches the
// parsers behind them.
void reseal(Bytes& frame, Prng& prng) {
  const auto ethernet = parse_ethernet(frame);
  if (!std::holds_alternative<EthernetView>(ethernet)) return;
  FrameTemplate t;
  t.vlan_tci = std::get<EthernetView>(ethernet).vlan_tci;
  t.udp_checksum = prng.below(8) != 0;
  t.endpoints = {1, 2, 3, 47000};
  if (frame.size() < frame_header_bytes(t)) return;
  write_frame_headers(t, frame, frame.size() - frame_header_bytes(t));
}

TEST(Mutation, BrokenPacketsNeverCrashAndAreCountedByReason) {
  constexpr int kRounds = 40'000;
  constexpr std::uint64_t kSeed = 20'240'501;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  const auto golden = golden_frames();
  ASSERT_GE(golden.size(), 30u);

  Prng prng(kSeed);
  std::array<int, kDropReasonCount + 1> outcomes{};
  std::uint64_t sink = 0;
  for (int i = 0; i < kRounds; ++i) {
    Bytes frame = golden[prng.below(static_cast<std::uint32_t>(golden.size()))];
    mutate(frame, prng);
    if (prng.below(4) != 0) reseal(frame, prng);
    // A buffer of exactly this size, so that any read beyond it is seen.
    const Bytes exact(frame.begin(), frame.end());
    ++outcomes[static_cast<std::size_t>(receive(exact, sink))];
  }

  for (const DropReason r :
       {DropReason::frame_truncated, DropReason::frame_bad_ip, DropReason::frame_bad_udp,
        DropReason::checksum, DropReason::crc32c, DropReason::no_integrity,
        DropReason::header_truncated, DropReason::bad_version, DropReason::bad_type,
        DropReason::bad_flags, DropReason::bad_extension, DropReason::critical_extension,
        DropReason::bad_dtype, DropReason::bad_reduce_op, DropReason::bad_encoding,
        DropReason::bad_collective, DropReason::bad_payload_length}) {
    EXPECT_GT(outcomes[static_cast<std::size_t>(r)], 0) << drop_label(r);
    RecordProperty(drop_label(r), outcomes[static_cast<std::size_t>(r)]);
  }
  EXPECT_GT(outcomes[kDropReasonCount], kRounds / 20) << "too few were still accepted";
  EXPECT_LT(outcomes[kDropReasonCount], kRounds / 2) << "too few were refused";
}

TEST(Mutation, GoldenPacketsThemselvesAreAccepted) {
  std::uint64_t sink = 0;
  for (const Bytes& frame : golden_frames()) EXPECT_EQ(receive(frame, sink), DropReason::none);
}

}  // namespace
}  // namespace tributary::wire
