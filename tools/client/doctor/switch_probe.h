// Path probes of a switch over UDP (docs/protocol/exchange.md, "Path probes"): whether it is there,
// knows a job and takes a rank of it, and whether packets of a size get there and back. Nothing
// joins the job.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/time.h"
#include "core/wire/extension.h"
#include "tools/client/doctor/finding.h"
#include "worker/transport/file_descriptor.h"

namespace tributary::client {

struct ProbeQuestion {
  std::uint32_t job = 1;
  std::uint32_t rank = wire::kUnknownRank;  // no rank is meant
  std::uint32_t bytes = 0;   // of a chunk: the packet is as long as the job's largest with it
  std::uint32_t wanted = 0;  // so that the answer is as long; 0: it tells the settings
};

struct ProbeAnswer {
  bool answered = false;
  bool port_closed = false;  // the address is another host's, which refused the datagram
  bool too_long = false;     // the kernel knows that such a packet does not fit the way
  wire::Reason reason = wire::Reason::none;  // of the NACK; none: another answer
  std::uint32_t ask_ipv4 = 0;                // the switch to ask about the rank instead; 0: unknown
  std::uint32_t ask_id = 0;                  // its id
  std::uint32_t bytes = 0;                   // of elements that came back
  bool fragments = false;                    // the switch takes IPv4 fragments
  std::optional<wire::StartInfo> settings;   // of the job; none: an earlier switch does not tell
};

class SwitchProbe {
 public:
  static constexpr Duration kPatience = Duration::ms(300);

  // Never throws: what can't be sent is not answered.
  SwitchProbe(std::uint32_t ipv4, std::uint16_t port);

  // Asks up to `tries` times, and waits `patience` for each answer.
  ProbeAnswer ask(const ProbeQuestion& question, int tries = 3, Duration patience = kPatience);
  // Longer packets than the MTU are cut from now on, as those of the job.
  void allow_fragments();
  // The MTU of the way as far as the kernel knows it, by the interface and by routers that said so.
  [[nodiscard]] std::uint32_t known_mtu() const;

 private:
  std::optional<ProbeAnswer> take_answer(const ProbeQuestion& question, Duration patience,
                                         bool& port_closed);

  worker::FileDescriptor fd_;
  std::uint32_t seq_ = 0;  // tells answers to this question from earlier ones
};

// Judges a switch that has answered, or whose port is closed; `address` as the user wrote it.
Finding judge(const ProbeAnswer& answer, const std::string& address, const ProbeQuestion& question);

// True if the switch knows the job, and does not take the rank.
bool refuses_rank(const ProbeAnswer& answer, const ProbeQuestion& question);
// Follows the answers of a tree from switch to switch to the one that takes the rank; `answer` is
// the first switch's. Returns its address, or 0 where the way ends before.
using AskSwitch = std::function<ProbeAnswer(std::uint32_t ipv4)>;
std::uint32_t find_leaf(ProbeAnswer answer, const AskSwitch& ask);
// For a rank that the switch does not take. `leaf`: see above.
Finding judge_leaf(const ProbeAnswer& answer, std::uint32_t leaf, const std::string& address,
                   const ProbeQuestion& question);

}  // namespace tributary::client
