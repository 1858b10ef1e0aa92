// Common parts of the tables of `show`: asking the packet loops, and how values are written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/time.h"
#include "dataplane/switch/switch.h"

namespace tributary::control {

inline constexpr Duration kLoopAnswer = Duration::seconds(2);

// Runs `read(worker, now)` on the lcore of that packet loop.
template <typename F>
auto on_loop(dataplane::PacketLoop& at, F read) {
  dataplane::PacketLoop* packet_loop = &at;
  return packet_loop->mailbox().ask(
      [packet_loop, read = std::move(read)](Instant now) { return read(*packet_loop, now); },
      kLoopAnswer);
}

// A table of a loop that is too large for one look: `look(worker, now, place, rows)` appends the
// next of its rows, from `place` on, and returns whether there are more; packets go on in between.
// `take(rows)` gets them, and returns whether it wants more. The piece that the loop writes to
// outlives a look that timed out, and has room for `most` rows without allocating.
template <typename Row, typename Place, typename Look, typename Take>
void in_pieces(dataplane::PacketLoop& of, std::size_t most, Look look, Take take) {
  struct Piece {
    Place place{};
    std::vector<Row> rows;
  };
  const auto piece = std::make_shared<Piece>();
  piece->rows.reserve(most);
  for (bool more = true; more;) {
    piece->rows.clear();
    more = on_loop(of, [piece, look](dataplane::PacketLoop& w, Instant now) {
      return look(w, now, piece->place, piece->rows);
    });
    if (!take(piece->rows)) return;
  }
}

// The lists that `read(worker, now)` gives on each lcore whose loop is not late, as one.
template <typename F>
auto on_every_loop(const dataplane::Switch& sw, F read) {
  std::invoke_result_t<F, dataplane::PacketLoop&, Instant> all;
  for (const auto& packet_loop : sw.packet_loops()) {
    if (packet_loop->is_late()) continue;
    for (auto& row : on_loop(*packet_loop, read)) all.push_back(std::move(row));
  }
  return all;
}

// The rows of all loops that are not late, and of each so many at most, or a few more.
template <typename Row, typename Place, typename Look>
std::vector<Row> in_pieces_of_every_loop(
    const dataplane::Switch& sw, Look look,
    std::size_t most = std::numeric_limits<std::size_t>::max()) {
  std::vector<Row> all;
  for (const auto& packet_loop : sw.packet_loops()) {
    if (packet_loop->is_late()) continue;
    const std::size_t before = all.size();
    in_pieces<Row, Place>(*packet_loop, 0, look, [&](auto& rows) {
      std::move(rows.begin(), rows.end(), std::back_inserter(all));
      return all.size() - before < most;
    });
  }
  return all;
}

// Which plane of its job a row is about. Some tables are of jobs with one only.
template <typename Row>
std::uint8_t plane_of(const Row& row) {
  if constexpr (requires { row.plane; })
    return row.plane;
  else
    return 0;
}

// Rows that several lcores gave, by the order of the jobs in the configuration, and by plane. `id`
// is the member that says of which job a row is.
template <typename Row>
void sort_by_job(const dataplane::Switch& sw, std::vector<Row>& rows, std::uint32_t Row::*id) {
  if (sw.packet_loops().size() == 1) return;
  const auto& jobs = sw.config().jobs;
  const auto place = [&](const Row& row) {
    return std::find_if(jobs.begin(), jobs.end(),
                        [&](const auto& job) { return job.id == row.*id; });
  };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    const auto first = place(a);
    const auto second = place(b);
    return first != second ? first < second : plane_of(a) < plane_of(b);
  });
}

// "1", or "1:0" for a plane of a job that has several.
inline std::string place_name(const config::JobConfig& job) {
  const std::string id = std::to_string(job.id);
  return job.planes == 1 ? id : id + ":" + std::to_string(job.plane);
}

// Sums over all lcores whose loops are not late.
inline aggregator::HoldTimes slot_holds(const dataplane::Switch& sw) {
  aggregator::HoldTimes all;
  for (const auto& packet_loop : sw.packet_loops())
    if (!packet_loop->is_late()) all.include(packet_loop->engine().slot_holds());
  return all;
}

// A value that is absent or unknown is null in every table; the client shows "-".
inline nlohmann::ordered_json or_null(bool known, nlohmann::ordered_json value) {
  return known ? std::move(value) : nlohmann::ordered_json();
}
inline nlohmann::ordered_json text_or_null(const std::string& text) {
  return or_null(!text.empty(), text);
}

// null: of no socket in particular.
inline nlohmann::ordered_json socket_or_null(int socket) {
  return or_null(socket >= 0, socket);
}

inline nlohmann::ordered_json port_names(const dataplane::Switch& sw, dataplane::PortMask ports) {
  auto names = nlohmann::ordered_json::array();
  for (std::size_t port = 0; port < sw.ports().size(); ++port)
    if ((ports >> port & 1) != 0) names.push_back(sw.port_name(port));
  return names;
}

inline double milliseconds(Duration d) {
  return static_cast<double>(d.to_ns()) * 1e-6;
}
inline nlohmann::ordered_json milliseconds_or_null(const std::optional<Duration>& d) {
  return d ? nlohmann::ordered_json(milliseconds(*d)) : nlohmann::ordered_json();
}

}  // namespace tributary::control
