#include "dataplane/rdma/ud_frame.h"

#include "dataplane/rdma/roce_frame.h"

namespace tributary::dataplane {

std::size_t write_ud_frame(const UdSend& send, std::size_t payload_bytes,
                           std::span<std::byte> frame) {
  const RocePath path{.source = send.source,
                      .destination = send.destination,
                      .vlan_tci = send.vlan_tci,
                      .source_ip = send.source_ip,
                      .destination_ip = send.destination_ip,
                      .dscp_ecn = send.dscp_ecn,
                      .source_qpn = send.source_qpn};
  return write_roce_frame(path,
                          {.bth = {.opcode = wire::kUdSend, .qpn = send.qpn, .psn = send.psn},
                           .deth = {send.qkey, send.source_qpn}},
                          payload_bytes, frame);
}

}  // namespace tributary::dataplane
