#include "tools/loadgen/generator.h"

#include <sys/prctl.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>
#include <stdexcept>

#include "core/wire/integrity.h"
#include "dataplane/frame/devargs.h"
#include "worker/transport/memif_address.h"

namespace tributary::loadgen {
namespace {

constexpr Duration kLongestNap = Duration::us(50);
constexpr Duration kInterruptedDrain = Duration::seconds(2);
constexpr Duration kLeaveLimit = Duration::seconds(2);
constexpr Duration kPlainDrain = Duration::ms(20);  // for frames that are under way
constexpr std::size_t kMostPlainBurst = 64;

// Frames that are fetched before they are looked at, and how much of each: a CPU finds the rest of
// a long one itself.
constexpr std::size_t kAhead = 3;
constexpr std::size_t kFetchedBytes = 1536;

void prefetch(Frame frame) {
  for (std::size_t at = 0; at < std::min(frame.size(), kFetchedBytes); at += 64)
    __builtin_prefetch(frame.data() + at);
}

void nap(Duration d) {
  const timespec t{.tv_sec = 0, .tv_nsec = d.to_ns()};
  nanosleep(&t, nullptr);
}

std::uint64_t random_nonce() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

// Enough to keep twice the window of every shard busy.
std::uint32_t open_ops(const config::JobConfig& job, std::uint32_t op_chunks) {
  return 2 * job.window * job.shards / op_chunks + 2;
}

}  // namespace

std::size_t buffer_bytes(const Plan& plan) {
  std::size_t bytes = 2048;
  for (const config::PortConfig& port : plan.config.ports)
    bytes = std::max(bytes, dataplane::data_bytes_needed(port));
  return bytes;
}

Generator::Generator(const Plan& plan, const Options& options, rte_mempool* pool,
                     std::function<bool()> stopped)
    : plan_(plan), options_(options), stopped_(std::move(stopped)), behind_(plan.ports.size()) {
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  for (const PlannedPort& port : plan.ports) lanes_.push_back(open_lane(port, pool));
  std::size_t scratch = 0;
  for (const config::JobConfig& job : plan.jobs) {
    scratch = std::max(scratch, std::size_t{options.op_chunks} * job.chunk_bytes);
    patterns_.emplace_back(options.dtype, job.id, job.workers, job.chunk_bytes);
  }
  scratch_.resize(scratch);
  if (options.l2_rate == 0) return;
  l2_lanes_ = places_of(plan, options.l2_ports);
  l2_places_.assign(lanes_.size(), L2Traffic::kNoStations);
  for (std::size_t place = 0; place < l2_lanes_.size(); ++place)
    l2_places_[l2_lanes_[place]] = place;
  l2_ = std::make_unique<L2Traffic>(options.l2_stations, l2_lanes_.size(), options.l2_bytes,
                                    options.seed);
}

void Generator::add_player(const PlannedWorker& worker, Instant now) {
  const config::SwitchConfig& config = plan_.config;
  const config::JobConfig& job = plan_.jobs[worker.job];
  PlayerOptions o;
  o.session.job = job.id;
  o.session.rank = worker.rank;
  o.session.size = job.workers;
  o.session.plane = job.plane;
  o.session.nonce = random_nonce();
  o.session.join_timeout = options_.join_timeout;
  o.session.op_timeout = options_.op_timeout;
  o.session.max_datagram_bytes = config.ports[worker.port].mtu - wire::kIpv4Bytes - wire::kUdpBytes;
  o.session.loss_group = options_.loss_group;
  o.session.switch_name = worker::ipv4_text(config.ipv4);
  o.own_ipv4 = worker.ipv4;
  o.own_mac = worker::worker_mac(worker.ipv4);
  o.switch_ipv4 = config.ipv4;
  o.switch_mac = config.mac.value_or(config::derived_mac(config.ipv4));
  o.base_port = config.udp_base_port;
  o.chunk_bytes = job.chunk_bytes;
  o.op_chunks = options_.op_chunks;
  o.open_ops = open_ops(job, options_.op_chunks);
  o.scratch = scratch_;
  o.faults = options_.faults;
  o.seed = options_.seed * 1'000'003 + players_.size();
  players_.push_back(std::make_unique<Player>(o, patterns_[worker.job], now));
  Player* const player = players_.back().get();
  Behind& behind = behind_[worker.port];
  behind.players.push_back(player);
  behind.by_ipv4[worker.ipv4] = player;
  behind.by_job[job.id].push_back(player);
}

Report Generator::run() {
  wait_for_links();
  for (const PlannedWorker& worker : plan_.workers) add_player(worker, clock_.now());
  std::size_t first = 0;
  for (const config::JobConfig& job : plan_.jobs) {
    std::vector<Player*> ranks;
    for (std::size_t i = 0; i < job.workers; ++i) ranks.push_back(players_[first + i].get());
    first += job.workers;
    JobOptions o;
    o.ops = options_.ops;
    o.late = options_.late;
    if (const double rate = rate_of(plan_, jobs_.size(), options_.rate, options_.job_rates);
        rate > 0)
      o.op_interval =
          Duration::ns(static_cast<std::int64_t>(1e9 * job.workers * options_.op_chunks / rate));
    jobs_.emplace_back(o, std::move(ranks));
  }
  if (l2_) announce_stations();
  const auto all = [this](auto what) { return std::all_of(jobs_.begin(), jobs_.end(), what); };
  turn_until(Instant::max(), [&] {
    return stopped_() || all([](const Job& job) { return job.joined() || job.failed(); });
  });

  const Instant begin = clock_.now();
  const bool limited = options_.duration > Duration();
  const Instant end = limited ? begin + options_.duration : Instant::max();
  const auto finished = [&] { return all([](const Job& job) { return job.done(); }); };
  // Where there is plain traffic only, done is when the time is over.
  const bool jobless = jobs_.empty();
  running_ = true;
  next_progress_ = begin + Duration::seconds(1);
  l2_next_ = begin;
  l2_sending_ = true;
  const auto over = [&] { return stopped_() || (!jobless && finished()); };
  Instant measured = begin;
  if (options_.warm_up > Duration()) {
    turn_until(std::min(begin + options_.warm_up, end), over);
    for (Job& job : jobs_) job.warmed_up();
    if (l2_) l2_->warmed_up();
    measured = clock_.now();
  }
  turn_until(end, over);
  l2_sending_ = false;
  for (Job& job : jobs_) job.stop();
  const bool interrupted = stopped_();
  const Instant drained =
      clock_.now() + (interrupted ? kInterruptedDrain : options_.op_timeout + Duration::seconds(1));
  turn_until(drained, finished);
  if (l2_) turn_until(clock_.now() + kPlainDrain, [] { return false; });
  Report out = report();
  out.seconds = (clock_.now() - begin).to_seconds();
  out.warm_up_seconds = (measured - begin).to_seconds();
  out.interrupted = interrupted;
  leave();
  return out;
}

void Generator::wait_for_links() {
  const Instant limit = clock_.now() + options_.join_timeout;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    while (!lanes_[i]->link_up(clock_.now()) && !stopped_()) {
      if (clock_.now() >= limit) {
        const std::string why = lanes_[i]->trouble();
        throw std::runtime_error("port " + plan_.ports[i].name + " (" + plan_.ports[i].devargs +
                                 "): no link; is the switch running, with this configuration?" +
                                 (why.empty() ? "" : " (" + why + ")"));
      }
      nap(Duration::ms(1));
    }
  }
}

void Generator::announce_stations() {
  for (std::uint32_t station = 0; station < l2_->stations(); ++station) {
    Lane& lane = *lanes_[l2_lanes_[l2_->port_of(station)]];
    while (!lane.roomy() && !stopped_()) turn();
    l2_->announce(station, lane);
  }
}

template <typename Done>
void Generator::turn_until(Instant limit, Done&& done) {
  while (!done()) {
    const Instant now = clock_.now();
    if (now >= limit) return;
    if (!options_.quiet && running_ && now >= next_progress_) show_progress(now);
    if (turn() > 0 || options_.busy) {
      napped_ = Duration();
      continue;
    }
    napped_ = std::min(napped_ + Duration::us(1), kLongestNap);
    nap(napped_);
  }
}

std::size_t Generator::turn() {
  std::size_t work = 0;
  const Instant arrived = clock_.now();
  for (std::size_t port = 0; port < lanes_.size(); ++port) work += receive(port, arrived);
  const Instant now = clock_.now();
  if (running_)
    for (Job& job : jobs_) job.run(now);
  if (l2_ && l2_sending_) work += send_plain(now);
  for (std::size_t port = 0; port < lanes_.size(); ++port) {
    Lane& lane = *lanes_[port];
    for (Player* player : behind_[port].players)
      if (player->poll(now, lane)) ++work;
    work += lane.flush();
  }
  return work;
}

std::size_t Generator::receive(std::size_t port, Instant now) {
  const std::span<const Frame> frames = lanes_[port]->receive(now);
  if (frames.empty()) return 0;
  for (std::size_t i = 0; i < std::min(kAhead, frames.size()); ++i) prefetch(frames[i]);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (i + kAhead < frames.size()) prefetch(frames[i + kAhead]);
    on_frame(port, frames[i], now);
  }
  lanes_[port]->release();
  return frames.size();
}

// Frames for others are ignored: a switch floods what it does not know.
void Generator::on_frame(std::size_t port, Frame frame, Instant now) {
  wire::EthernetView eth;
  if (wire::parse_ethernet(frame, eth) != DropReason::none) {
    ++refused_frames_;
  } else if (eth.ether_type == wire::kEtherTypeIpv4) {
    on_ipv4(port, eth.payload, now);
  } else if (eth.ether_type == L2Traffic::kEtherType && l2_) {
    l2_->on_frame(l2_places_[port], eth);
  }
}

void Generator::on_ipv4(std::size_t port, std::span<const std::byte> packet, Instant now) {
  wire::Udp4View udp;
  bool is_udp = false;
  if (wire::parse_udp4(packet, udp, is_udp) != DropReason::none) {
    ++refused_frames_;
    return;
  }
  if (!is_udp || udp.endpoints.source_ip != plan_.config.ipv4) return;
  wire::Packet aggregation;
  if (wire::parse(udp.payload, aggregation) != DropReason::none ||
      wire::check_integrity(udp, aggregation) != DropReason::none) {
    ++refused_frames_;
    return;
  }
  const Behind& behind = behind_[port];
  const std::uint32_t to = udp.endpoints.destination_ip;
  const std::uint32_t id = aggregation.header.job;
  if (to == config::job_group_ipv4(id)) {
    const auto job = behind.by_job.find(id);
    if (job == behind.by_job.end()) return;
    for (Player* player : job->second)
      if (player->options().session.plane == aggregation.header.plane)
        player->on_packet(aggregation, now);
  } else if (const auto one = behind.by_ipv4.find(to); one != behind.by_ipv4.end()) {
    one->second->on_packet(aggregation, now);
  }
}

// The ports take turns in one stream of all. A delay is made up for, up to a tenth of a second: a
// virtual CPU may be away for long, and ports that are full stay so.
std::size_t Generator::send_plain(Instant now) {
  const Duration interval = Duration::ns(
      static_cast<std::int64_t>(1'000'000'000 / std::max<std::uint64_t>(options_.l2_rate, 1)));
  std::size_t sent = 0;
  while (now >= l2_next_ && sent < kMostPlainBurst) {
    Lane& lane = *lanes_[l2_lanes_[l2_port_]];
    if (!lane.roomy()) break;
    l2_->send(l2_port_, lane);
    l2_port_ = (l2_port_ + 1) % l2_lanes_.size();
    l2_next_ = std::max(l2_next_ + interval, now - Duration::ms(100));
    ++sent;
  }
  return sent;
}

void Generator::leave() {
  const Instant now = clock_.now();
  running_ = false;
  for (const auto& player : players_) player->leave(now);
  turn_until(now + kLeaveLimit, [this] {
    return std::all_of(players_.begin(), players_.end(), [](const auto& player) {
      return player->state() == worker::SessionState::left;
    });
  });
}

void Generator::show_progress(Instant now) {
  Figures all;
  for (const auto& player : players_) all.add(*player);
  const double seconds = (now - next_progress_).to_seconds() + 1;
  std::fprintf(stderr,
               "loadgen: %.0f contributions/s, %.3f GB/s verified, %llu wrong, %llu probes, "
               "%llu resends\n",
               static_cast<double>(all.counts.verified - shown_) / seconds,
               static_cast<double>(all.counts.verified_bytes - shown_bytes_) * 1e-9 / seconds,
               static_cast<unsigned long long>(all.counts.wrong),
               static_cast<unsigned long long>(all.probes),
               static_cast<unsigned long long>(all.resends));
  shown_ = all.counts.verified;
  shown_bytes_ = all.counts.verified_bytes;
  next_progress_ = now + Duration::seconds(1);
}

Report Generator::report() const {
  Report out;
  for (std::size_t i = 0; i < jobs_.size(); ++i) {
    const config::JobConfig& job = plan_.jobs[i];
    const std::string name = job.name.empty() ? "job-" + std::to_string(job.id) : job.name;
    out.jobs.push_back(report_of(jobs_[i], job.id, name));
  }
  if (l2_) out.l2 = l2_->counts();
  out.refused_frames = refused_frames_;
  return out;
}

}  // namespace tributary::loadgen
