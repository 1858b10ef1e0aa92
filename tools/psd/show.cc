#include "tools/psd/show.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "control/metrics/completion_metrics.h"
#include "control/show/show_completion.h"
#include "tools/psd/on_loop.h"

namespace tributary::psd {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kMostChunks = 1024;

}  // namespace

ordered_json Show::table(const std::string& what) {
  if (what == "seats") return seats();
  if (what == "completion") return completion();
  if (what == "escalated") return escalated();
  if (what == "models") return models();
  if (what == "ports") return ports();
  if (what == "drops") return drops();
  if (what == "config") return config::dump(config_);
  throw std::invalid_argument(
      "nothing that a parameter server shows is called '" + what +
      "'; allowed: seats, completion, escalated, models, ports, drops, config");
}

ordered_json Show::seats() {
  return control::served_rows(loop_.server(),
                              on_loop(loop_, [](const completion::Server& server, Instant now) {
                                return server.status(now);
                              }));
}

ordered_json Show::completion() {
  ordered_json rows = ordered_json::array();
  const completion::Server& server = loop_.server();
  for (std::size_t seat = 0; seat < server.seat_count(); ++seat) {
    const auto& limits = server.engine(seat).limits(0);
    rows.push_back(control::engine_row(server.engine(seat).counters(0), limits.bytes,
                                       {{"job", limits.id}, {"shard", server.shard_of(seat)}}));
  }
  return rows;
}

ordered_json Show::escalated() {
  ordered_json rows = ordered_json::array();
  const auto chunks = on_loop(loop_, [](const completion::Server& server, Instant now) {
    std::vector<completion::ChunkStatus> all;
    for (std::size_t seat = 0; seat < server.seat_count(); ++seat)
      for (auto& chunk : server.engine(seat).status(now, kMostChunks - all.size())) {
        chunk.shard = server.shard_of(seat);
        all.push_back(std::move(chunk));
      }
    return all;
  });
  for (const auto& chunk : chunks) rows.push_back(control::chunk_row(chunk));
  return rows;
}

ordered_json Show::models() {
  ordered_json rows = ordered_json::array();
  const completion::Server& server = loop_.server();
  for (std::size_t place = 0; place < server.job_count(); ++place) {
    const completion::Model* const model = server.model(place);
    if (model == nullptr) continue;
    const completion::ModelCounters& c = model->counters();
    const CheckpointCounters* const kept = loop_.checkpoints().counters(place);
    rows.push_back(
        {{"job", server.job(place).limits.id},
         {"parameters", config::elements_of(model->optimizer())},
         {"step", c.step.get()},
         {"rate", completion::rate_after(c.step.get(), model->optimizer())},
         {"updates", c.updates.get()},
         {"repeated", c.repeated.get()},
         {"taken_back", c.taken_back.get()},
         {"refused", c.refused.get()},
         {"checkpoint_step", kept != nullptr && kept->unix_time.get() + kept->step.get() != 0
                                 ? ordered_json(kept->step.get())
                                 : ordered_json()},
         {"checkpoints", kept != nullptr ? kept->written.get() : 0},
         {"failed", kept != nullptr ? kept->failed.get() : 0}});
  }
  return rows;
}

// None where the kernel has the port.
ordered_json Show::ports() {
  ordered_json rows = ordered_json::array();
  if (port_ == nullptr) return rows;
  const dataplane::UdpPort::Counters& c = port_->counters();
  rows.push_back({{"port", port_->port().name()},
                  {"link", port_->port().link().up() ? "up" : "down"},
                  {"mtu", port_->port().config().mtu},
                  {"rx_packets", c.rx_packets.get()},
                  {"rx_bytes", c.rx_bytes.get()},
                  {"tx_packets", c.tx_packets.get()},
                  {"tx_bytes", c.tx_bytes.get()},
                  {"unresolved", c.unresolved.get()},
                  {"peer_faults", c.peer_faults.get()},
                  {"put_together", c.reassembled.get()},
                  {"cut", c.fragmented.get()},
                  {"drops", port_->drops().total()},
                  {"device", port_->port().config().devargs}});
  return rows;
}

ordered_json Show::drops() {
  ordered_json rows = ordered_json::array();
  for (std::size_t i = 0; i < kDropReasonCount; ++i) {
    const auto reason = static_cast<DropReason>(i);
    if (const std::uint64_t count = loop_.drops().get(reason); count != 0)
      rows.push_back(
          {{"reason", drop_label(reason)}, {"packets", count}, {"meaning", drop_text(reason)}});
  }
  return rows;
}

namespace {

void collect_models(control::Families& out, const ServerLoop& loop) {
  using control::family;
  using control::number;
  using control::sample;
  const completion::Server& server = loop.server();
  const auto each = [&](const char* name, const char* help, bool gauge, auto counter_of) {
    prometheus::MetricFamily* made = nullptr;
    for (std::size_t place = 0; place < server.job_count(); ++place) {
      if (server.model(place) == nullptr) continue;
      const Counter* const counter = counter_of(place);
      if (counter == nullptr) continue;
      if (made == nullptr) made = &family(out, name, help, gauge);
      sample(*made, {control::job_label(server.job(place).limits.id)}, number(*counter));
    }
  };
  const auto of_model = [&](Counter completion::ModelCounters::*member) {
    return
        [&server, member](std::size_t place) { return &(server.model(place)->counters().*member); };
  };
  const auto of_file = [&](Counter CheckpointCounters::*member) {
    return [&loop, member](std::size_t place) -> const Counter* {
      const CheckpointCounters* const c = loop.checkpoints().counters(place);
      return c == nullptr ? nullptr : &(c->*member);
    };
  };
  using M = completion::ModelCounters;
  using C = CheckpointCounters;
  each("tributary_model_step", "Step that the whole model has reached", true, of_model(&M::step));
  each("tributary_model_updates_total", "Blocks of parameters stepped", false,
       of_model(&M::updates));
  each("tributary_model_updated_values_total", "Parameters in those", false,
       of_model(&M::updated_values));
  each("tributary_model_repeated_total", "Updates answered with what was stored", false,
       of_model(&M::repeated));
  each("tributary_model_taken_back_total", "Blocks that went back to a whole step", false,
       of_model(&M::taken_back));
  each("tributary_model_refused_total", "Epochs ended for taking the model to be elsewhere", false,
       of_model(&M::refused));
  each("tributary_checkpoints_written_total", "Checkpoints on disk", false, of_file(&C::written));
  each("tributary_checkpoints_failed_total", "Checkpoints that could not be written", false,
       of_file(&C::failed));
  each("tributary_checkpoint_step", "Step of the last checkpoint", true, of_file(&C::step));
  each("tributary_checkpoint_bytes", "Length of a checkpoint", true, of_file(&C::bytes));
  each("tributary_checkpoint_timestamp_seconds",
       "When the last checkpoint was written, in Unix time; 0: none yet", true,
       of_file(&C::unix_time));
}

}  // namespace

std::vector<prometheus::MetricFamily> Metrics::Collect() const {
  using control::family;
  using control::number;
  using control::sample;
  control::Families out;
  out.reserve(64);  // family() hands out references
  const completion::Server& server = loop_.server();
  sample(family(out, "tributary_build_info", "Version of the program; always 1", true),
         {{"version", TRIBUTARY_VERSION}}, 1);
  const auto count = [&](const char* name, const char* help, const Counter& counter) {
    sample(family(out, name, help, false), {}, number(counter));
  };
  count("tributary_server_received_total", "Datagrams received", loop_.counters().received);
  count("tributary_server_received_bytes_total", "Bytes of those", loop_.counters().received_bytes);
  count("tributary_server_sent_total", "Datagrams sent", loop_.counters().sent);
  count("tributary_server_sent_bytes_total", "Bytes of those", loop_.counters().sent_bytes);
  count("tributary_server_starts_total", "Epochs and terms begun", server.counters().starts);
  count("tributary_server_ended_total", "Epochs and terms that their root ended",
        server.counters().ended);
  count("tributary_server_lapsed_total", "Epochs and terms whose root fell silent",
        server.counters().lapsed);
  count("tributary_server_refused_total", "Jobs that their root was told other things about",
        server.counters().refused);
  count("tributary_server_stale_terms_total", "STARTs of a term that is over",
        server.counters().stale_terms);
  count("tributary_server_wrong_senders_total", "Packets from elsewhere than a job's root",
        server.counters().wrong_senders);
  if (port_ != nullptr) {
    count("tributary_server_reassembled_total", "Datagrams put together from fragments",
          port_->counters().reassembled);
    count("tributary_server_fragmented_total", "Datagrams that left as fragments",
          port_->counters().fragmented);
  }
  auto& drops = family(out, "tributary_server_drops_total", "Datagrams dropped, by reason", false);
  for (std::size_t i = 0; i < kDropReasonCount; ++i) {
    const auto reason = static_cast<DropReason>(i);
    if (const std::uint64_t n = loop_.drops().get(reason); n != 0)
      sample(drops, {{"reason", drop_label(reason)}}, static_cast<double>(n));
  }
  collect_models(out, loop_);
  std::vector<control::EngineFigures> figures;
  control::add_figures(figures, server);
  control::collect_engines(out, figures, server.memory_bytes());
  return out;
}

}  // namespace tributary::psd
