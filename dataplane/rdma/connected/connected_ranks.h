// The connections of the ranks of this lcore's jobs: one for each rank of a job that takes RDMA,
// set up by rdma_cm (docs/rdma.md).
//
// All memory is taken at construction; a packet loop owns it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "aggregator/chunk/job_index.h"
#include "config/model/switch_config.h"
#include "core/net/cm.h"
#include "core/net/window_terms.h"
#include "dataplane/rdma/connected/connection.h"

namespace tributary::dataplane {

class ConnectedRanks {
 public:
  // `part`: of the configuration, what this lcore does. `seed` differs between incarnations.
  ConnectedRanks(const config::SwitchConfig& config, const config::SwitchConfig& part,
                 std::size_t lcore, std::uint64_t seed);

  // Connections and heap bytes, as the configuration says, of which `part` is what the lcore does;
  // and the bytes as they are.
  static std::size_t count(const config::SwitchConfig& part);
  static std::size_t table_bytes(const config::SwitchConfig& part);
  [[nodiscard]] std::size_t table_bytes() const;

  // nullptr: no open queue pair has this number.
  [[nodiscard]] Connection* find(std::uint32_t qpn) const;
  [[nodiscard]] Connection* find(const Endpoint& peer) const {
    return find(peer.flow() & wire::kMaxQpn);
  }

  // The outcome of a REQ.
  struct Refusal {
    wire::CmReject reason = wire::CmReject::consumer;
    const char* text = nullptr;  // nullptr: it is not refused
  };
  struct Asked {
    Connection* connection = nullptr;  // the rank's; nullptr where refused
    bool again = false;                // it has been accepted before
    Refusal refusal;
    wire::WindowRequest request;
  };
  // `from`: its flow is of no account. Fails a connection that the same queue pair had before.
  Asked ask(const wire::CmRequest& request, const Endpoint& from);
  void accept(const Asked& asked, const wire::CmRequest& request, const Endpoint::Parts& from,
              Instant now);
  [[nodiscard]] wire::Mad reply_of(const Connection& connection) const;
  static wire::Mad refuse(const wire::CmRequest& request, const Refusal& refusal);
  static wire::Mad disconnect(const Connection& connection) {
    return disconnect(farewell_of(connection));
  }

  // Its queue pair is no more.
  void free(Connection& connection);
  // A rank whose job is no more here confirms that. False: there is no such rank.
  bool confirm(const wire::CmIds& ids, const Endpoint& from);
  // Calls tell(endpoint, message) for such ranks that are to be told again now.
  template <typename Tell>
  void repeat_farewells(Instant now, Tell&& tell) {
    std::erase_if(farewells_, [&](Farewell& f) {
      if (now < f.next) return false;
      if (f.tries == kMostDisconnects) return true;
      f.next = now + pause_after_disconnect(++f.tries);
      tell(f.peer, disconnect(f));
      return false;
    });
  }

  // Calls visit(connection) for each that is not free.
  template <typename Visit>
  void each(Visit&& visit) {
    for (JobRanks& job : jobs_)
      for (Connection& connection : job.ranks)
        if (connection.state != Connection::State::free) visit(connection);
  }
  template <typename Visit>
  void each(Visit&& visit) const {
    for (const JobRanks& job : jobs_)
      for (const Connection& connection : job.ranks)
        if (connection.state != Connection::State::free) visit(connection);
  }
  // Those that are not free.
  [[nodiscard]] std::size_t size() const { return active_; }
  // Nothing is to be done from time to time.
  [[nodiscard]] bool empty() const { return active_ == 0 && farewells_.empty(); }

  // Whether it has the connection's job as that was when the connection began.
  [[nodiscard]] bool keeps(const ConnectedRanks& before, const Connection& connection) const;
  // For adopt(), on any thread between two changes of the configuration.
  void make_room_for(const ConnectedRanks& before);
  // Takes over the connections of jobs that stay as they are; others have ended, and their ranks
  // are told so until they confirm it.
  void adopt(ConnectedRanks& before);

 private:
  struct JobRanks {
    config::JobConfig config;
    std::vector<Connection> ranks;
  };
  struct Farewell {
    Endpoint peer;
    wire::CmIds ids;
    std::uint32_t remote_qpn = 0;
    std::uint32_t tries = 0;
    const char* why = "";
    Instant next;
  };
  static Farewell farewell_of(const Connection& c) {
    return {c.peer, {c.nonce, c.qpn, c.remote_id}, c.remote_qpn, c.tries, c.why, c.timer};
  }
  static wire::Mad disconnect(const Farewell& farewell);
  // Where ranks go and come faster than farewells end, what is too much is said no more: those
  // ranks hear nothing, and find it out by their own retries.
  void add(const Farewell& farewell);
  Refusal object(const wire::CmRequest& request, const wire::WindowRequest& asked,
                 std::uint16_t ingress, JobRanks*& job) const;
  [[nodiscard]] WindowTerms terms_for(const JobRanks& job, const wire::WindowRequest& asked) const;
  std::uint64_t draw();
  std::uint32_t draw_qpn();
  void index();

  [[nodiscard]] bool is_here(std::uint64_t service) const {
    return service == wire::rdma_tcp_service(port_) || service == wire::rdma_ib_service(port_);
  }

  std::uint16_t port_;
  std::array<std::uint32_t, config::kMaxPorts> mtus_{};  // of the switch's ports, by place
  std::uint64_t ca_guid_;
  std::uint32_t lcore_;
  std::uint64_t random_;
  std::uint32_t count_;
  std::size_t active_ = 0;
  std::vector<JobRanks> jobs_;  // stays where it is: the index points into it
  aggregator::JobIndex<JobRanks> by_id_;
  std::vector<Farewell> farewells_;
  std::vector<Connection*> by_qpn_;  // open addressing, at most a quarter full
};

}  // namespace tributary::dataplane
