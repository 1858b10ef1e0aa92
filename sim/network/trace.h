// The events of a run, as one number and, on request, as text.
//
// The number takes in the time, place, kind and bytes of every event: two runs that agree in it
// did the same. Text is made only if there is a listener.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>

#include "core/time.h"

namespace tributary::sim {

enum class TraceKind : std::uint8_t {
  delivered,
  lost,
  cut,
  corrupted,
  queue_full,
  link_down,
  backlog_full,
  node_down,
  crash,
  restart,
  pause,
  resume,
  op_done,
  op_failed,
  session,
};

class Trace {
 public:
  using Sink = std::function<void(const std::string&)>;

  void listen(Sink sink) { sink_ = std::move(sink); }
  [[nodiscard]] bool listening() const { return static_cast<bool>(sink_); }

  void add(Instant at, std::uint32_t node, TraceKind kind, std::span<const std::byte> bytes = {}) {
    ++events_;
    mix(static_cast<std::uint64_t>(at.to_ns()));
    mix(std::uint64_t{node} << 32 | static_cast<std::uint64_t>(kind) << 24 | bytes.size());
    while (bytes.size() >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), 8);
      mix(word);
      bytes = bytes.subspan(8);
    }
    std::uint64_t tail = 0;
    for (const std::byte b : bytes) tail = tail << 8 | static_cast<std::uint8_t>(b);
    mix(tail);
  }
  // A line of the event log, stamped with the world's time.
  void say(Instant at, const std::string& text);

  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  [[nodiscard]] std::uint64_t events() const { return events_; }

 private:
  void mix(std::uint64_t word) {
    hash_ = (hash_ ^ word) * 0x9FB21C651E98DF25ULL;
    hash_ ^= hash_ >> 29;
  }
  std::uint64_t hash_ = 0x243F6A8885A308D3ULL;
  std::uint64_t events_ = 0;
  Sink sink_;
};

// "CONTRIBUTION job 1 epoch 3 rank 0 op 2 chunk 0 seq 5 shard 0, 16 int32" and the like.
std::string describe_frame(std::span<const std::byte> frame);
// "  12.345678 ms"
std::string time_text(Instant at);

}  // namespace tributary::sim
