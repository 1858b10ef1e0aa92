#include "control/capture/capture.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "config/text/nearest.h"
#include "control/capture/capture_format.h"
#include "control/capture/capture_stream.h"
#include "control/socket/request_fields.h"
#include "control/socket/send_all.h"
#include "control/text/show_text.h"

namespace tributary::control {
namespace {

using dataplane::CapturedFrame;
using dataplane::CapturePoint;
using dataplane::CaptureTap;
using dataplane::CaptureWish;
using nlohmann::ordered_json;

constexpr int kIdleMs = 5;                       // between looks at an empty ring
constexpr std::size_t kMostPending = 64u << 10;  // bytes before they are sent
// The last frame before that, and how a stream ends.
static_assert(kMostPending + CaptureWish::kMostSnap + (8u << 10) < CaptureStream::kMostLeft);
// Bytes of each tap's ring: a trace is short, but all consequences of its frames have to fit.
constexpr std::size_t kCaptureRoom = 8u << 20;
constexpr std::size_t kTraceRoom = 32u << 20;

std::string line_of(const ordered_json& reply) {
  return reply.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
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

void set_ports(CaptureRequest& request, const ordered_json& json) {
  const auto list = json.find("ports");
  if (list == json.end()) return;
  const auto is_text = [](const ordered_json& name) { return name.is_string(); };
  if (!list->is_array() || !std::all_of(list->begin(), list->end(), is_text))
    throw std::invalid_argument("\"ports\" must be a list of ports");
  request.ports = list->get<std::vector<std::string>>();
}

CaptureRequest parse_end(const ordered_json& json) {
  check_keys(json, {"command", "end"});
  if (json["end"] != true) throw std::invalid_argument("\"end\" must be true");
  CaptureRequest request;
  request.end = true;
  return request;
}

CaptureRequest parse_capture(const ordered_json& json) {
  check_keys(json, {"command", "ports", "points", "filter", "count", "snap"});
  CaptureRequest request;
  if (const auto list = json.find("points"); list != json.end()) set_points(request, *list);
  request.count = number_of(json, "count").value_or(0);
  request.snap = number_of(json, "snap").value_or(CaptureWish::kMostSnap);
  if (request.snap == 0 || request.snap > CaptureWish::kMostSnap)
    throw std::invalid_argument("\"snap\" must be from 1 to " +
                                std::to_string(CaptureWish::kMostSnap));
  return request;
}

// Whole frames: what they say is only told when they are valid.
CaptureRequest parse_trace(const ordered_json& json) {
  check_keys(json, {"command", "ports", "filter", "count"});
  CaptureRequest request;
  request.trace = true;
  request.rx = false;  // the decision comes with the frame
  request.count = needed(json, "count");
  if (request.count == 0) throw std::invalid_argument("\"count\" must be 1 or more");
  return request;
}

}  // namespace

std::optional<CaptureRequest> capture_request(std::string_view line) {
  const ordered_json json = ordered_json::parse(line, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto command = json.value("command", ordered_json());
  if (command != "capture" && command != "trace") return std::nullopt;
  if (command == "capture" && json.contains("end")) return parse_end(json);
  CaptureRequest request = command == "trace" ? parse_trace(json) : parse_capture(json);
  set_ports(request, json);
  if (json.contains("filter")) request.filter = text_of(json, "filter");
  return request;
}

CaptureWish capture_wish(const CaptureRequest& request, const std::vector<std::string>& ports) {
  CaptureWish wish;
  wish.rx = request.rx;
  wish.tx = request.tx;
  wish.drop = request.drop;
  wish.verdict = request.trace;
  wish.snap = request.snap;
  wish.ports.assign(ports.size(), request.ports.empty());
  for (const std::string& name : request.ports) {
    const auto at = std::find(ports.begin(), ports.end(), name);
    if (at == ports.end())
      throw std::invalid_argument("no port is called '" + name + "'" +
                                  config::nearest_hint(name, ports) + "; `show ports` lists them");
    wish.ports[static_cast<std::size_t>(at - ports.begin())] = true;
  }
  if (!request.filter.empty()) wish.filter = dataplane::CaptureFilter(request.filter);
  return wish;
}

class CaptureServer::Session {
 public:
  // Installs the taps. Throws std::runtime_error when a loop does not answer.
  Session(dataplane::Switch& sw, const CaptureRequest& request, CaptureWish wish,
          std::vector<std::string> names, int connection)
      : switch_(sw),
        names_(std::move(names)),
        format_(request.trace ? trace_format(names_, sw.packet_loops().size())
                              : pcapng_format(names_, wish.snap)),
        trace_(request.trace),
        count_(request.count),
        connection_(connection),
        stream_(connection),
        name_((trace_ ? "trace of " : "capture of ") + peer_of(connection)),
        frame_(wish.snap),
        missed_(sw.packet_loops().size()) {
    const auto shared = std::make_shared<CaptureWish>(std::move(wish));
    const std::size_t room = trace_ ? kTraceRoom : kCaptureRoom;
    for (std::size_t lcore = 0; lcore < sw.packet_loops().size(); ++lcore)
      taps_.push_back(std::make_unique<CaptureTap>(shared, room));
    install(true);
    thread_ = std::thread([this] { run(); });
  }
  // For a session that is over, or after end().
  ~Session() {
    thread_.join();
    close(connection_);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] bool over() const { return over_.load(std::memory_order_acquire); }
  [[nodiscard]] CaptureStream::Clock::duration unread_for() const { return stream_.unread_for(); }
  // Its kind and owner, as text.
  [[nodiscard]] const std::string& name() const { return name_; }
  // Ends the session soon, whatever its reader does. To be called once.
  void end(const std::string& why) {
    why_ = why;
    stream_.stop();
  }

 private:
  // Or takes off. Throws std::runtime_error when a loop does not answer.
  void install(bool on);
  // None is on any loop that answers; returns why one does not.
  std::exception_ptr take_off();
  void run();
  void finish(std::string& out);
  // Frames that wait, as far as they are wanted and fit; returns how many.
  std::size_t drain(std::string& out);
  // Frames of one tap.
  std::size_t drain(std::size_t lcore, std::string& out);
  // Frames sent and dropped because of the last one; no tap is on any loop.
  void drain_effects(std::string& out);
  [[nodiscard]] bool counts(const CapturedFrame& frame) const {
    return !trace_ || (frame.point == CapturePoint::verdict && !frame.verdict.handed_to);
  }
  [[nodiscard]] bool complete() const { return count_ != 0 && seen_ == count_; }
  // Frames that are in no file, because they found no room or the reader takes no more; no tap is
  // on any loop.
  [[nodiscard]] std::uint64_t count_missed();

  dataplane::Switch& switch_;
  std::vector<std::string> names_;
  std::unique_ptr<CaptureFormat> format_;
  bool trace_;
  std::uint32_t count_;
  int connection_;
  CaptureStream stream_;
  std::string name_;
  std::string why_;                                // before stream_.stop()
  std::vector<std::byte> frame_;                   // of the snap's size
  std::vector<std::unique_ptr<CaptureTap>> taps_;  // by lcore
  std::vector<std::uint64_t> missed_;              // by lcore, before the last frame taken
  std::uint32_t seen_ = 0;
  std::size_t last_lcore_ = 0;  // where the last that counts was seen
  Instant last_when_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

std::exception_ptr CaptureServer::Session::take_off() {
  std::exception_ptr failed;
  for (const auto& packet_loop : switch_.packet_loops()) try {
      on_loop(*packet_loop,
              [](dataplane::PacketLoop& w, Instant) { return w.capture(nullptr), 0; });
    } catch (const std::runtime_error&) {
      failed = std::current_exception();
    }
  return failed;
}

void CaptureServer::Session::install(bool on) {
  std::exception_ptr failed;
  try {
    for (std::size_t lcore = 0; on && lcore < taps_.size(); ++lcore)
      on_loop(switch_.packet_loops()[lcore],
              [tap = taps_[lcore].get()](dataplane::PacketLoop& w, Instant) {
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

std::size_t CaptureServer::Session::drain(std::size_t lcore, std::string& out) {
  std::size_t drained = 0;
  CapturedFrame frame;
  while (!complete() && out.size() < kMostPending && taps_[lcore]->take(frame, frame_)) {
    format_->add(out, lcore, frame, std::span(frame_).first(frame.kept));
    missed_[lcore] = frame.missed;
    ++drained;
    if (!counts(frame)) continue;
    ++seen_;
    last_lcore_ = lcore;
    last_when_ = frame.when;
  }
  return drained;
}

std::size_t CaptureServer::Session::drain(std::string& out) {
  std::size_t drained = 0;
  for (std::size_t lcore = 0; lcore < taps_.size(); ++lcore) drained += drain(lcore, out);
  return drained;
}

void CaptureServer::Session::drain_effects(std::string& out) {
  CapturedFrame frame;
  while (taps_[last_lcore_]->take(frame, frame_)) {
    if (frame.point == CapturePoint::verdict || frame.when != last_when_) return;
    missed_[last_lcore_] = frame.missed;
    format_->add(out, last_lcore_, frame, std::span(frame_).first(frame.kept));
  }
}

std::uint64_t CaptureServer::Session::count_missed() {
  std::uint64_t missed = 0;
  for (std::size_t lcore = 0; lcore < taps_.size(); ++lcore) {
    // A frame that found no room after the last wanted one is no loss.
    missed += complete() ? missed_[lcore] : taps_[lcore]->missed();
    CapturedFrame frame;
    while (!complete() && taps_[lcore]->take(frame, frame_)) ++missed;
  }
  return missed;
}

void CaptureServer::Session::run() {
  std::string out = line_of({{"ok", true}, {"data", {{"ports", names_}}}});
  format_->begin(out);
  bool wanted = true;
  while (wanted && !complete()) {
    wanted = stream_.send(out);
    const bool idle = drain(out) == 0;
    wanted = wanted && stream_.wanted(idle ? kIdleMs : 0);
  }
  try {
    install(false);
    finish(out);
  } catch (const std::runtime_error&) {
    // The file ends without its last block; the switch has worse trouble.
  }
  shutdown(connection_, SHUT_RDWR);
  over_.store(true, std::memory_order_release);
}

// Writes the frames left in the taps, as long as the reader takes them, and how many were missed.
void CaptureServer::Session::finish(std::string& out) {
  do {
    drain(out);
  } while (out.size() >= kMostPending && stream_.send(out));
  if (trace_ && complete()) drain_effects(out);
  const std::uint64_t missed = count_missed();
  format_->end(out, missed, stream_.stopped() && !complete() ? why_ : "");
  stream_.send_last(out);
}

CaptureServer::CaptureServer(dataplane::Switch& sw, std::function<void(const std::string&)> report,
                             std::chrono::nanoseconds patience)
    : switch_(sw), report_(std::move(report)), patience_(patience) {}

CaptureServer::~CaptureServer() {
  if (session_) session_->end("the switch stops");
}

std::string CaptureServer::end_session(const std::string& why) {
  std::string name = session_->name();
  session_->end(why);
  session_.reset();
  report_("ended the " + name + ": " + why);
  return name;
}

void CaptureServer::make_way(int newcomer) {
  if (!session_) return;
  if (session_->unread_for() < patience_)
    throw std::invalid_argument("another capture or trace runs, the " + session_->name() +
                                "; one at a time can, `tributary capture --end` ends that one");
  end_session("its reader had stopped reading, and " + peer_of(newcomer) + " wanted to capture");
}

bool CaptureServer::take(std::string_view line, int connection) {
  try {
    const auto request = capture_request(line);
    if (!request) return false;
    if (session_ && session_->over()) session_.reset();
    if (request->end) {
      if (!session_) throw std::invalid_argument("no capture or trace runs");
      const std::string name = end_session("`tributary capture --end` of " + peer_of(connection));
      send_all(connection, line_of({{"ok", true}, {"data", {{"ended", name}}}}));
      close(connection);
      return true;
    }
    std::vector<std::string> names;
    {
      const auto held = switch_.hold();
      for (std::size_t place = 0; place < switch_.ports().size(); ++place)
        names.push_back(switch_.port_name(place));
    }
    CaptureWish wish = capture_wish(*request, names);
    make_way(connection);
    session_ =
        std::make_unique<Session>(switch_, *request, std::move(wish), std::move(names), connection);
  } catch (const std::exception& error) {
    send_all(connection, line_of({{"ok", false}, {"error", error.what()}}));
    close(connection);
  }
  return true;
}

}  // namespace tributary::control
