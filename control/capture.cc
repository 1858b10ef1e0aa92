#include "control/capture.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "control/pcapng.h"
#include "control/request_fields.h"
#include "control/send_all.h"
#include "control/show_text.h"

namespace tributary::control {
namespace {

using dataplane::CapturedFrame;
using dataplane::CapturePoint;
using dataplane::CaptureTap;
using dataplane::CaptureWish;
using nlohmann::ordered_json;

constexpr int kIdleMs = 5;                        // between looks at an empty ring
constexpr std::size_t kMostPending = 256u << 10;  // bytes before they are sent

std::string line_of(const ordered_json& reply) {
  return reply.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

std::int64_t clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return t.tv_sec * 1'000'000'000LL + t.tv_nsec;
}

// The loop's time counts from the machine's start, as the monotonic clock does.
std::uint64_t since_1970(Instant when) {
  static const std::int64_t offset = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
  return static_cast<std::uint64_t>(when.to_ns() + offset);
}

// A loop that does not answer may use a tap at any time.
void left_to_loops(std::unique_ptr<CaptureTap> tap) {
  static std::vector<std::unique_ptr<CaptureTap>> kept;
  static std::mutex guard;
  const std::lock_guard lock(guard);
  kept.push_back(std::move(tap));
}

void set_points(CaptureRequest& request, const ordered_json& list) {
  request.rx = request.tx = request.drop = false;
  const auto bad = [] {
    return std::invalid_argument("\"points\" must be a list with some of: rx, tx, drop");
  };
  if (!list.is_array() || list.empty()) throw bad();
  for (const auto& point : list) {
    if (point == "rx")
      request.rx = true;
    else if (point == "tx")
      request.tx = true;
    else if (point == "drop")
      request.drop = true;
    else
      throw bad();
  }
}

CaptureRequest parse(const ordered_json& json) {
  check_keys(json, {"command", "ports", "points", "filter", "count", "snap"});
  CaptureRequest request;
  if (const auto list = json.find("ports"); list != json.end()) {
    const auto is_text = [](const ordered_json& name) { return name.is_string(); };
    if (!list->is_array() || !std::all_of(list->begin(), list->end(), is_text))
      throw std::invalid_argument("\"ports\" must be a list of ports");
    request.ports = list->get<std::vector<std::string>>();
  }
  if (const auto list = json.find("points"); list != json.end()) set_points(request, *list);
  if (json.contains("filter")) request.filter = text_of(json, "filter");
  request.count = number_of(json, "count").value_or(0);
  request.snap = number_of(json, "snap").value_or(CaptureWish::kMostSnap);
  if (request.snap == 0 || request.snap > CaptureWish::kMostSnap)
    throw std::invalid_argument("\"snap\" must be from 1 to " +
                                std::to_string(CaptureWish::kMostSnap));
  return request;
}

}  // namespace

std::optional<CaptureRequest> capture_request(std::string_view line) {
  const ordered_json json = ordered_json::parse(line, nullptr, false);
  if (!json.is_object() || json.value("command", ordered_json()) != "capture") return std::nullopt;
  return parse(json);
}

CaptureWish capture_wish(const CaptureRequest& request, const std::vector<std::string>& ports) {
  CaptureWish wish;
  wish.rx = request.rx;
  wish.tx = request.tx;
  wish.drop = request.drop;
  wish.snap = request.snap;
  wish.ports.assign(ports.size(), request.ports.empty());
  for (const std::string& name : request.ports) {
    const auto at = std::find(ports.begin(), ports.end(), name);
    if (at == ports.end())
      throw std::invalid_argument("no port is called '" + name + "'; `show ports` lists them");
    wish.ports[static_cast<std::size_t>(at - ports.begin())] = true;
  }
  if (!request.filter.empty()) wish.filter = dataplane::CaptureFilter(request.filter);
  return wish;
}

class CaptureServer::Session {
 public:
  // Installs the taps. Throws std::runtime_error when a loop does not answer.
  Session(dataplane::Switch& sw, CaptureWish wish, std::vector<std::string> names,
          std::uint32_t count, int connection)
      : switch_(sw),
        names_(std::move(names)),
        count_(count),
        connection_(connection),
        frame_(wish.snap) {
    // A reader may pause; at the end, shutdown() wakes whoever waits for it.
    const timeval forever{};
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &forever, sizeof forever);
    const auto shared = std::make_shared<CaptureWish>(std::move(wish));
    for (std::size_t lcore = 0; lcore < sw.workers().size(); ++lcore)
      taps_.push_back(std::make_unique<CaptureTap>(shared));
    install(true);
    thread_ = std::thread([this] { run(); });
  }
  ~Session() {
    shutdown(connection_, SHUT_RDWR);
    thread_.join();
    close(connection_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }

 private:
  // Or takes off. Throws std::runtime_error when a loop does not answer.
  void install(bool on);
  // None is on any loop that answers; returns why one does not.
  std::exception_ptr take_off();
  void run();
  void finish(std::string& out);
  // Frames that wait, as far as they are wanted and fit; returns how many.
  std::size_t drain(std::string& out);
  void add(std::string& out, const CapturedFrame& frame);
  [[nodiscard]] bool complete() const { return count_ != 0 && seen_ == count_; }
  // Waits so long; false: the client has closed its end.
  [[nodiscard]] bool client_is_there(int wait_ms) const;

  dataplane::Switch& switch_;
  std::vector<std::string> names_;
  std::uint32_t count_;
  int connection_;
  std::vector<std::byte> frame_;                   // of the snap's size
  std::vector<std::unique_ptr<CaptureTap>> taps_;  // by lcore
  std::uint32_t seen_ = 0;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

std::exception_ptr CaptureServer::Session::take_off() {
  std::exception_ptr failed;
  for (const auto& worker : switch_.workers()) try {
      on_loop(*worker, [](dataplane::Worker& w, Instant) { return w.capture(nullptr), 0; });
    } catch (const std::runtime_error&) {
      failed = std::current_exception();
    }
  return failed;
}

void CaptureServer::Session::install(bool on) {
  std::exception_ptr failed;
  try {
    for (std::size_t lcore = 0; on && lcore < taps_.size(); ++lcore)
      on_loop(switch_.workers()[lcore], [tap = taps_[lcore].get()](dataplane::Worker& w, Instant) {
        return w.capture(tap), 0;
      });
  } catch (const std::runtime_error&) {
    failed = std::current_exception();
  }
  if (!on || failed) {
    if (const auto silent = take_off()) failed = silent;
  }
  if (!failed) return;
  for (auto& tap : taps_) left_to_loops(std::move(tap));
  taps_.clear();
  std::rethrow_exception(failed);
}

void CaptureServer::Session::add(std::string& out, const CapturedFrame& frame) {
  using enum PcapngPacket::Direction;
  PcapngPacket packet;
  packet.interface = frame.port;
  packet.when_ns = since_1970(frame.when);
  packet.length = frame.length;
  packet.bytes = std::span(frame_).first(frame.kept);
  packet.direction = frame.point == CapturePoint::tx ? outbound : inbound;
  std::string comment;
  if (frame.point == CapturePoint::drop) {
    packet.direction = unknown;
    comment = std::string("dropped: ") + drop_label(frame.reason) + ": " + drop_text(frame.reason);
    packet.comment = comment;
  }
  pcapng_packet(out, packet);
}

std::size_t CaptureServer::Session::drain(std::string& out) {
  std::size_t drained = 0;
  CapturedFrame frame;
  for (const auto& tap : taps_)
    while (!complete() && out.size() < kMostPending && tap->take(frame, frame_)) {
      add(out, frame);
      ++seen_;
      ++drained;
    }
  return drained;
}

bool CaptureServer::Session::client_is_there(int wait_ms) const {
  pollfd end{connection_, POLLRDHUP, 0};
  return poll(&end, 1, wait_ms) == 0;
}

void CaptureServer::Session::run() {
  std::string out = line_of({{"ok", true}, {"data", {{"ports", names_}}}});
  pcapng_section(out, std::string("tributary-switchd ") + TRIBUTARY_VERSION);
  for (const std::string& name : names_)
    pcapng_interface(out, name, static_cast<std::uint32_t>(frame_.size()));
  bool writable = true;
  bool there = true;
  while (there && !complete()) {
    writable = send_all(connection_, out);
    out.clear();
    const bool idle = drain(out) == 0;
    there = writable && client_is_there(idle ? kIdleMs : 0);
  }
  try {
    install(false);
    if (writable) finish(out);
  } catch (const std::runtime_error&) {
    // The file ends without its last block; the switch has worse trouble.
  }
  shutdown(connection_, SHUT_RDWR);
  over_.store(true, std::memory_order_release);
}

// What the taps have left, and what they had no room for.
void CaptureServer::Session::finish(std::string& out) {
  bool writable = true;
  do {
    drain(out);
    writable = send_all(connection_, out);
    const bool more = out.size() >= kMostPending;
    out.clear();
    if (!more) break;
  } while (writable);
  std::uint64_t missed = 0;
  for (const auto& tap : taps_) missed += tap->missed();
  pcapng_losses(out, 0, static_cast<std::uint64_t>(clock_ns(CLOCK_REALTIME)), missed);
  if (writable) send_all(connection_, out);
}

CaptureServer::CaptureServer(dataplane::Switch& sw) : switch_(sw) {}
CaptureServer::~CaptureServer() = default;

bool CaptureServer::take(std::string_view line, int connection) {
  try {
    const auto request = capture_request(line);
    if (!request) return false;
    if (session_ && session_->over()) session_.reset();
    if (session_)
      throw std::invalid_argument("another capture runs; one at a time can, end that one first");
    std::vector<std::string> names;
    for (const auto& port : switch_.ports()) names.push_back(port->name());
    CaptureWish wish = capture_wish(*request, names);
    session_ = std::make_unique<Session>(switch_, std::move(wish), std::move(names), request->count,
                                         connection);
  } catch (const std::exception& error) {
    send_all(connection, line_of({{"ok", false}, {"error", error.what()}}));
    close(connection);
  }
  return true;
}

}  // namespace tributary::control
