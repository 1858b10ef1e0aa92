// One line about a RoCE packet that is no SEND of an aggregation packet: what a program writes,
// what is acknowledged, and how connections come and go.
#pragma once

#include <string>

#include "core/net/roce.h"

namespace tributary::control {

// "WRITE_LAST of 1024 B, PSN 7 to qp 12, immediate 5", "ACK of PSN 7 to qp 3", "CM REQ to qp 1".
std::string rdma_text(const wire::RoceView& packet);

}  // namespace tributary::control
