// The responder of a reliable connection (IBA volume 1, 9.7.5): which request is next, which is a
// duplicate, where a WRITE's bytes belong. Pure; it holds numbers, no data.
//
//   FIRST (address, length) ─▶ MIDDLE … ─▶ LAST      or ONLY
//
// A request counts when taken() says that its data is; until then it may come again. After a gap
// one NAK asks for all from the missing packet on (go-back-N).
#pragma once

#include <cstdint>

#include "core/net/roce.h"
#include "dataplane/rdma/connected/write_message.h"

namespace tributary::dataplane {

class ReceiveSide {
 public:
  using What = RequestKind;
  using Step = RequestStep;

  void start(std::uint32_t psn, std::uint32_t path_mtu);

  // Says what this request is. Changes nothing; the caller calls taken() or asked().
  [[nodiscard]] Step look(const wire::RoceView& view, const WindowTerms& terms) const;
  // The expected packet was taken.
  void taken(const wire::RoceView& view, std::uint64_t address);
  // A NAK asks for the missing packet, or an RNR NAK for the expected one.
  void asked() { asked_ = true; }

  [[nodiscard]] std::uint32_t expected() const { return expected_; }
  [[nodiscard]] std::uint32_t messages() const { return messages_; }

 private:
  std::uint32_t expected_ = 0;
  std::uint32_t messages_ = 0;  // complete ones: MSN
  bool asked_ = false;
  WriteMessage message_;
};

}  // namespace tributary::dataplane
