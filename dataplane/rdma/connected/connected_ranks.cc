#include "dataplane/rdma/connected/connected_ranks.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "core/net/frame.h"
#include "core/net/roce.h"
#include "core/prng.h"

namespace tributary::dataplane {
namespace {

constexpr std::uint32_t kGolden = 0x9E3779B1u;

// Bytes of headers of an IP packet with the first and last part of a WRITE.
constexpr std::uint32_t kWriteOverheadBytes = wire::kUdpPayloadOffset - wire::kEthernetBytes +
                                              wire::kBthBytes + wire::kRethBytes +
                                              wire::kImmDtBytes + wire::kIcrcBytes;

// Why ranks of a job cannot come by connected queue pairs; nullptr: they can.
const char* object_to_job(const config::JobConfig& job) {
  if (job.planes != 1 || job.shards != 1)
    return "the job has several planes or shards; ranks on connected queue pairs take one";
  if (config::degrades(job)) return "results of the job may lack ranks, which WRITEs cannot tell";
  if (config::resizes(job)) return "the job's number of ranks may change, which WRITEs cannot tell";
  if (!std::has_single_bit(job.chunk_bytes)) return "chunk_bytes of the job is no power of two";
  return nullptr;
}

std::size_t connections_of(const config::JobConfig& job) {
  return job.rdma && object_to_job(job) == nullptr ? job.workers : 0;
}
// Size of the index by queue pairs' numbers: at most a quarter full.
std::size_t index_size(std::size_t connections) {
  return std::bit_ceil(4 * connections + 4);
}

}  // namespace

std::size_t ConnectedRanks::count(const config::SwitchConfig& part) {
  std::size_t ranks = 0;
  for (const config::JobConfig& job : part.jobs) ranks += connections_of(job);
  return ranks;
}

std::size_t ConnectedRanks::table_bytes(const config::SwitchConfig& part) {
  std::size_t bytes = index_size(count(part)) * sizeof(void*) +
                      config::index_entries(part.jobs.size()) * config::kIndexEntryBytes;
  for (const config::JobConfig& job : part.jobs)
    if (job.rdma)
      bytes += sizeof(JobRanks) + connections_of(job) * (sizeof(Connection) + sizeof(Farewell) +
                                                         SendSide::table_bytes(job.window) +
                                                         OpWindow::table_bytes(job.window));
  return bytes;
}

std::size_t ConnectedRanks::table_bytes() const {
  std::size_t bytes = by_qpn_.capacity() * sizeof(void*) + by_id_.table_bytes() +
                      jobs_.capacity() * sizeof(JobRanks) +
                      farewells_.capacity() * sizeof(Farewell);
  for (const JobRanks& job : jobs_) {
    bytes += job.ranks.capacity() * sizeof(Connection);
    for (const Connection& c : job.ranks) bytes += c.results.table_bytes() + c.window.table_bytes();
  }
  return bytes;
}

ConnectedRanks::ConnectedRanks(const config::SwitchConfig& config, const config::SwitchConfig& part,
                               std::size_t lcore, std::uint64_t seed)
    : port_(config.udp_base_port),
      ca_guid_(std::uint64_t{0x5442} << 48 | config.ipv4),
      lcore_(static_cast<std::uint32_t>(lcore)),
      random_(seed),
      count_(static_cast<std::uint32_t>(seed)),
      by_id_(part.jobs.size()) {
  jobs_.reserve(static_cast<std::size_t>(
      std::count_if(part.jobs.begin(), part.jobs.end(), [](const auto& job) { return job.rdma; })));
  for (const config::JobConfig& job : part.jobs) {
    if (!job.rdma) continue;
    JobRanks& ranks = jobs_.emplace_back(JobRanks{job, {}});
    const auto all = static_cast<std::uint32_t>(connections_of(job));
    ranks.ranks.reserve(all);
    for (std::uint32_t rank = 0; rank < all; ++rank) ranks.ranks.emplace_back(job, rank);
  }
  for (std::size_t i = 0; i < std::min(config.ports.size(), mtus_.size()); ++i)
    mtus_[i] = config.ports[i].mtu;
  for (JobRanks& job : jobs_) by_id_.insert(job.config.id, &job);
  by_qpn_.resize(index_size(count(part)));
  farewells_.reserve(count(part));
}

Connection* ConnectedRanks::find(std::uint32_t qpn) const {
  if (!is_connected_qpn(qpn)) return nullptr;
  const std::size_t mask = by_qpn_.size() - 1;
  for (std::size_t i = (qpn * kGolden) & mask;; i = (i + 1) & mask)
    if (by_qpn_[i] == nullptr || by_qpn_[i]->qpn == qpn) return by_qpn_[i];
}

void ConnectedRanks::index() {
  std::fill(by_qpn_.begin(), by_qpn_.end(), nullptr);
  active_ = 0;
  const std::size_t mask = by_qpn_.size() - 1;
  each([&](Connection& c) {
    std::size_t i = (c.qpn * kGolden) & mask;
    while (by_qpn_[i] != nullptr) i = (i + 1) & mask;
    by_qpn_[i] = &c;
    ++active_;
  });
}

std::uint64_t ConnectedRanks::draw() {
  return split_mix(random_ += kSplitMixStep);
}

std::uint32_t ConnectedRanks::draw_qpn() {
  std::uint32_t qpn = 0;
  do qpn = kConnectedQpn | lcore_ << 18 | (++count_ & kConnectedCount);
  while (find(qpn) != nullptr);
  return qpn;
}

WindowTerms ConnectedRanks::terms_for(const JobRanks& job, const wire::WindowRequest& asked) const {
  WindowTerms terms{.base = std::uint64_t{job.config.id} << 32,
                    .ring_base = asked.ring_address,
                    .ring_rkey = asked.ring_rkey,
                    .op_bytes = asked.op_bytes,
                    .chunk_bytes = job.config.chunk_bytes,
                    .dtype = static_cast<wire::DType>(asked.dtype),
                    .reduce_op = static_cast<wire::ReduceOp>(asked.reduce_op)};
  if (terms.op_bytes != 0)
    terms.ops =
        std::clamp(job.config.window / terms.chunks(), 1u, std::max(1u, std::uint32_t{asked.ops}));
  return terms;
}

ConnectedRanks::Refusal ConnectedRanks::object(const wire::CmRequest& request,
                                               const wire::WindowRequest& asked,
                                               std::uint16_t ingress, JobRanks*& job) const {
  job = by_id_.find(asked.job);
  if (job == nullptr) return {.text = "no such job here, or it has no `rdma: true`"};
  if (const char* const why = object_to_job(job->config)) return {.text = why};
  if (asked.rank >= job->config.workers) return {.text = "the job does not have this rank"};
  if (asked.ops == 0) return {.text = "the ring has no room for an op"};
  const auto& admitted = job->config.reductions;
  const auto is_asked_for = [&](const config::Reduction& r) {
    return r.dtype == static_cast<wire::DType>(asked.dtype) &&
           r.op == static_cast<wire::ReduceOp>(asked.reduce_op);
  };
  if (!admitted.empty() && std::none_of(admitted.begin(), admitted.end(), is_asked_for))
    return {.text = "the job's `reductions` do not have this type and operation"};
  if (request.path_mtu % job->config.chunk_bytes != 0)
    return {wire::CmReject::invalid_mtu, "chunk_bytes of the job does not divide the path MTU"};
  if (ingress >= mtus_.size() || request.path_mtu + kWriteOverheadBytes > mtus_[ingress])
    return {wire::CmReject::invalid_mtu, "packets of the path MTU are larger than the port's mtu"};
  const WindowTerms terms = terms_for(*job, asked);
  if (const char* const why = object_to(terms, job->config.partials)) return {.text = why};
  const bool repeats = request.transport != static_cast<int>(wire::RoceTransport::uc);
  if (!repeats && terms.chunks() > job->config.window)
    return {.text = "an op has more chunks than the job's `window`, and on UC nothing waits"};
  return {};
}

ConnectedRanks::Asked ConnectedRanks::ask(const wire::CmRequest& request, const Endpoint& from) {
  Asked asked;
  if (!is_here(request.service)) {
    asked.refusal = {wire::CmReject::invalid_service, "no such port here"};
    return asked;
  }
  if (request.transport > static_cast<int>(wire::RoceTransport::uc)) {
    asked.refusal = {wire::CmReject::invalid_transport, "only RC and UC queue pairs are taken"};
    return asked;
  }
  if (!wire::parse_window_request(request.data, asked.request)) {
    asked.refusal = {.text = "the private data is not TRB2's"};
    return asked;
  }
  JobRanks* job = nullptr;
  asked.refusal = object(request, asked.request, from.port(), job);
  if (asked.refusal.text != nullptr) return asked;
  Connection& c = job->ranks[asked.request.rank];
  const bool same = c.peer.is_same_host(from) && c.remote_qpn == request.qpn;
  if (c.is_open() && same && c.remote_id == request.id) {
    asked.connection = &c;
    asked.again = true;
    return asked;
  }
  if (c.is_open() && same) {  // its other end has begun anew
    c.fail("the queue pair's other end has begun anew");
    asked.refusal = {wire::CmReject::stale_connection, "the switch still had an older connection"};
    return asked;
  }
  if (c.is_open()) {
    asked.refusal = {.text = "the rank is taken"};
    return asked;
  }
  asked.connection = &c;
  return asked;
}

void ConnectedRanks::accept(const Asked& asked, const wire::CmRequest& request,
                            const Endpoint::Parts& from, Instant now) {
  Connection& c = *asked.connection;
  JobRanks& job = *by_id_.find(c.job);
  if (c.state == Connection::State::ending) add(farewell_of(c));
  c.qpn = draw_qpn();
  c.remote_qpn = request.qpn;
  c.remote_id = request.id;
  c.transaction = request.transaction;
  c.responder_resources = request.initiator_depth;
  c.initiator_depth = request.responder_resources;
  c.nonce = draw();
  Endpoint::Parts peer = from;
  peer.flow = kConnectedFlow | c.qpn;
  c.peer = Endpoint(peer);
  c.terms = terms_for(job, asked.request);
  c.terms.rkey = static_cast<std::uint32_t>(draw());
  // Each end says with which number the other one is to begin.
  c.first_psn = static_cast<std::uint32_t>(draw()) & wire::kMaxQpn;
  c.transport = static_cast<wire::RoceTransport>(request.transport);
  c.requests.start(c.first_psn, request.path_mtu);
  c.datagrams.start(c.first_psn, request.path_mtu);
  c.acknowledged = psn_before(c.first_psn);
  c.results.start(request.psn);
  c.partly = {};
  c.epoch = 0;
  c.state = Connection::State::replied;
  c.heard = c.told = c.timer = c.asked = now;
  c.repeated = Instant();
  c.tries = 0;
  c.why = "";
  c.must_answer = false;
  index();
}

wire::Mad ConnectedRanks::reply_of(const Connection& c) const {
  const auto grant =
      wire::write_window_grant({c.terms.rkey, c.terms.base, c.terms.ops, c.terms.chunk_bytes});
  return wire::write_cm_reply({.ids = {c.transaction, c.qpn, c.remote_id},
                               .qpn = c.qpn,
                               .psn = c.first_psn,
                               .ca_guid = ca_guid_,
                               .responder_resources = c.responder_resources,
                               .initiator_depth = c.initiator_depth,
                               .data = grant});
}

wire::Mad ConnectedRanks::refuse(const wire::CmRequest& request, const Refusal& refusal) {
  const std::size_t length = std::min(std::strlen(refusal.text), wire::kRejDataBytes - 1);
  return wire::write_cm_reject({request.transaction, 0, request.id}, refusal.reason,
                               std::as_bytes(std::span(refusal.text, length)));
}

wire::Mad ConnectedRanks::disconnect(const Farewell& f) {
  return wire::write_cm_disconnect(f.ids, f.remote_qpn,
                                   std::as_bytes(std::span(f.why, std::strlen(f.why))));
}

bool ConnectedRanks::confirm(const wire::CmIds& ids, const Endpoint& from) {
  return std::erase_if(farewells_, [&](const Farewell& f) {
           return f.ids.sender == ids.receiver && f.ids.receiver == ids.sender &&
                  f.peer.is_same_host(from);
         }) != 0;
}

void ConnectedRanks::free(Connection& c) {
  c.state = Connection::State::free;
  index();
}

bool ConnectedRanks::keeps(const ConnectedRanks& before, const Connection& connection) const {
  const JobRanks* const job = by_id_.find(connection.job);
  return job != nullptr && job->config == before.by_id_.find(connection.job)->config;
}

void ConnectedRanks::make_room_for(const ConnectedRanks& before) {
  std::size_t ranks = 0;
  for (const JobRanks& job : before.jobs_) ranks += job.ranks.size();
  farewells_.reserve(std::max(farewells_.capacity() + ranks, before.farewells_.capacity()));
}

void ConnectedRanks::add(const Farewell& farewell) {
  if (farewells_.size() < farewells_.capacity()) farewells_.push_back(farewell);
}

void ConnectedRanks::adopt(ConnectedRanks& before) {
  random_ = before.random_;
  count_ = before.count_;
  for (JobRanks& job : jobs_) {
    JobRanks* const old = before.by_id_.find(job.config.id);
    if (old != nullptr && old->config == job.config) std::swap(job.ranks, old->ranks);
  }
  before.each([&](const Connection& c) {
    if (c.state == Connection::State::ending) add(farewell_of(c));
  });
  for (const Farewell& f : before.farewells_) add(f);
  index();
}

}  // namespace tributary::dataplane
