// Converts the manager's state to messages of its interface.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "manager/api/manager.pb.h"
#include "manager/service/cluster.h"

namespace tributary::manager {

// The text, cut between two characters of UTF-8 if it has more bytes.
std::string bounded(std::string_view text, std::size_t most);

void fill(const Cluster::View& view, const Job& from, v1::Job& to);
void fill(const Event& from, v1::Event& to);
void fill(const Straggler& from, v1::Straggler& to);
void fill(const Move& from, v1::MoveReply& to);
void fill(const Cluster::View& view, v1::TopologyReply& to);
SwitchRegistration registration_of(const v1::Registration& from);
SwitchReport report_of(const v1::Report& from);

}  // namespace tributary::manager
