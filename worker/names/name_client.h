// Named data at an endpoint (docs/protocol/names.md): puts and gets values, cut into segments, and
// answers requests for what this endpoint has put.
//
//   put: segments, a window of them in flight ──PUT──▶ until STORED, or a final REFUSE
//   get: segment 0 says how many there are; then the others likewise ──GET──▶ until DATA
//        all of them say the digest of the whole value, which has to be that of what came
//
// What is lost is sent again by timers that double. Pure: packets, calls and `now` come in,
// datagrams and finished calls go out. One thread calls it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/digest.h"
#include "core/time.h"
#include "core/wire/data_name.h"
#include "core/wire/header.h"
#include "worker/names/name_call.h"
#include "worker/session/send_batch.h"

namespace tributary::worker {

using NameBatch = DatagramBatch<32, wire::serialized_bytes(wire::kNameExtensionBytes)>;

class NameClient {
 public:
  // How the switch knows this endpoint; the default is no member of the job.
  struct Identity {
    std::uint32_t job = 0;
    std::uint16_t epoch = 0;
    std::uint32_t origin = 0xFFFFFFFF;
    std::uint16_t child = 0xFFFF;
    std::uint16_t fan_in = 0;
    std::uint32_t segment_bytes = 0;  // of what it puts
    bool crc32c = false;
  };
  static constexpr std::size_t kWindow = 32;
  static constexpr Duration kFirstRetry = Duration::ms(20);
  static constexpr int kMostDoublings = 4;
  // Bytes of values that this endpoint has put and answers for.
  static constexpr std::uint64_t kMostKept = std::uint64_t{1} << 30;

  void identify(const Identity& identity) { identity_ = identity; }
  [[nodiscard]] const Identity& identity() const { return identity_; }

  // The call's name is complete (complete_name()).
  void start(std::shared_ptr<NameCall> call, Instant now);
  // A packet for which wire::concerns_name().
  void on_packet(const wire::Packet& packet, Instant now);
  // Runs what is due and adds datagrams to send now; if the batch is full, call again at once.
  void poll(Instant now, NameBatch& batch);
  [[nodiscard]] Instant next_wakeup() const;
  // Calls that ended; nullptr if there are none.
  std::shared_ptr<NameCall> take_finished();
  // Ends every call.
  void fail_all(const std::string& why);

 private:
  struct Flight {
    std::uint32_t segment = 0;
    Instant due;
    int tries = 0;
  };
  struct Transfer {
    std::shared_ptr<NameCall> call;
    wire::DataName name;  // views into the call's name
    Instant deadline;
    wire::ValueInfo value;     // of a get: as the first segment says; its own digest is not used
    Xxh64 arrived;             // of a get: the digest of the segments before the first that lacks
    std::size_t digested = 0;  // bytes in it
    std::uint32_t segment_bytes = 0;
    std::uint32_t next = 0;  // segment to ask for, or to send
    std::uint32_t left = 1;  // segments without an answer
    std::vector<Flight> flights;
    wire::Reason last_refusal = wire::Reason::none;
    bool publishes = false;  // a put of a value that was not there
  };
  struct Published {
    std::vector<std::byte> value;
    std::uint32_t segment_bytes = 0;
    std::uint32_t segments = 0;
    std::uint64_t digest = 0;
  };
  // An answer to a request of the switch.
  struct Reply {
    std::string text;
    std::shared_ptr<const Published> value;  // nullptr: refused
  };

  bool begin_put(Transfer& t);
  bool take_own(Transfer& t);
  void finish(std::size_t at, std::optional<Failure> failure);
  void on_data(Transfer& t, const wire::DataName& name, const wire::Packet& packet);
  static bool learn(Transfer& t, const wire::ValueInfo& info, std::size_t payload);
  static bool place(Transfer& t, std::uint32_t segment, std::span<const std::byte> payload);
  static void check_whole(Transfer& t);
  [[nodiscard]] static bool is_of_put(const Transfer& t, std::uint32_t segment,
                                      const wire::Packet& packet);
  static bool land(Transfer& t, std::uint32_t segment);
  bool on_refusal(Transfer& t, const wire::DataName& name, wire::Reason reason, Instant now);
  void serve(const wire::DataName& name, std::string_view text);
  void send_replies(NameBatch& batch);
  [[nodiscard]] static std::size_t wanted_flights(const Transfer& t);
  void send_due(Transfer& t, Instant now, NameBatch& batch);
  void send_segment(const Transfer& t, std::uint32_t segment, NameBatch& batch);
  void put(NameBatch& batch, wire::PacketType type, std::string_view name,
           const wire::ValueInfo* info, std::span<const std::byte> payload,
           wire::Reason reason = wire::Reason::none);
  static std::span<const std::byte> segment_of(const std::vector<std::byte>& value,
                                               std::uint32_t segment_bytes, std::uint32_t segment);

  Identity identity_;
  std::vector<Transfer> transfers_;
  std::deque<std::shared_ptr<NameCall>> finished_;
  std::map<std::string, std::shared_ptr<const Published>, std::less<>> published_;  // by value
  std::uint64_t kept_bytes_ = 0;
  std::deque<Reply> replies_;
  std::vector<std::shared_ptr<const Published>> sending_;  // whose bytes the last batch names
};

}  // namespace tributary::worker
