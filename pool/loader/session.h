// A Loader's state in one process: connections, the record table, reads in flight. Used under its
// mutex.
#pragma once

#include <poll.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "pool/loader/loader.h"
#include "pool/loader/node_link.h"
#include "pool/record/table.h"

namespace tributary::pool {

class Session {
 public:
  Session(const PoolConfig& config, const Manifest& manifest, std::string token,
          std::unique_ptr<ReadDomain> domain = make_read_domain());
  ~Session();

  void get_batch(std::span<const std::uint64_t> ids, std::span<const std::span<std::byte>> targets);
  // See Loader.
  DeviceReads read_into_device(std::span<const std::uint64_t> ids,
                               std::span<const std::span<std::byte>> targets);
  void register_buffer(std::span<std::byte> buffer);
  void register_device(const DeviceBuffer& memory);
  void unregister_buffer(const std::byte* buffer);
  std::vector<NodeState> nodes();
  [[nodiscard]] LoadCounters counters() const { return counters_; }
  std::mutex& mutex() { return mutex_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Node {
    std::optional<NodeLink> link;
    std::unique_ptr<NodeReader> reader;
    std::string problem;
    Clock::time_point next_try;        // when to connect again, while it is down
    Clock::time_point next_renewal;    // when to renew the lease, while it is up
    std::vector<std::size_t> waiting;  // items to be read from it
    std::size_t in_flight = 0;
    Clock::time_point last_completion;  // or when it got something to do
    [[nodiscard]] bool up() const { return reader != nullptr; }
  };
  // One record of the current batch.
  struct Item {
    std::uint64_t id = 0;
    std::span<std::byte> target;  // of the record's length
    Location at;
    std::size_t header = 0;  // its slot of headers_
    std::uint8_t tried = 0;  // owners, by rank, that are not asked again
    bool reading = false;
  };

  void connect_nodes();
  void connect(std::size_t node);
  void fail_node(std::size_t node, const std::string& problem);
  void refresh(std::size_t node);
  void apply(std::size_t node, const PlacedRecord& record);
  [[nodiscard]] std::size_t rank_of(std::uint64_t id, std::size_t node) const;
  void renew_leases();

  void distribute();
  void enqueue(std::size_t node, std::size_t index);
  void read_from_pool();
  bool post_waiting(std::size_t node);
  bool poll_node(std::size_t node);
  void begin();
  void finish(std::size_t node, std::size_t index, bool good);
  void finish_in_device(const Item& item, const RecordHeader& header, bool expected);
  void check_silent_nodes();
  void wait_for_nodes(Clock::time_point last_progress);
  void look_up_again();
  void read_from_store();

  const PoolConfig& config_;
  const Manifest& manifest_;
  const std::string token_;
  const Placement placement_;
  std::mutex mutex_;
  std::unique_ptr<ReadDomain> domain_;
  RecordTable table_;
  std::map<const std::byte*, std::unique_ptr<RegisteredBuffer>> buffers_;
  std::vector<Node> nodes_;
  // Headers of reads in flight; registered.
  std::vector<RecordHeader> headers_;
  std::vector<std::size_t> free_headers_;
  std::unique_ptr<RegisteredBuffer> headers_registered_;
  std::unique_ptr<Store> store_;
  StopFlag stop_;
  ReaderCounters store_counters_;
  // One for each parallel request, each with a connection that stays open between batches.
  std::vector<std::unique_ptr<RecordReader>> store_readers_;
  LoadCounters counters_;

  std::vector<Item> items_;
  std::vector<pollfd> wait_files_;
  std::vector<std::size_t> again_;  // to look up at their owners
  std::vector<std::size_t> from_store_;
  DeviceReads* in_device_ = nullptr;  // of the current batch, if its targets are a device's memory
};

}  // namespace tributary::pool
