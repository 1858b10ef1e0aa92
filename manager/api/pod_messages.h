// Converts pods and nodes to messages of their interface and back.
#pragma once

#include "manager/api/pods.pb.h"
#include "manager/pods/pod_book.h"
#include "manager/service/group_load.h"
#include "manager/service/log_desk.h"

namespace tributary::manager {

void fill(const ContainerStatus& from, v1::ContainerInfo& to);
void fill(const PodRecord& from, v1::PodInfo& to);
void fill(const GroupLoad& from, v1::GroupInfo& to);
void fill(const Seat& from, v1::SeatInfo& to);
Seat seat_of(const v1::SeatInfo& from);
void fill(const Node& from, v1::NodeInfo& to);
void fill(const PodBook::Work& from, v1::NodeWork& to);
void fill(const LogQuestion& from, v1::LogQuestion& to);
LogQuestion log_question_of(const v1::LogQuestion& from);
LogAnswer log_answer_of(const v1::LogAnswer& from);
// Bounded: what an agent says beyond the bounds is left out.
NodeReport node_report_of(const v1::NodeReport& from);

}  // namespace tributary::manager
