// A Loader's state in one process: its nodes' readers, and the reads in flight. Used under its
// mutex, but for nodes(). Connections and the record table are the keeper's (node_keeper.h).
#pragma once

#include <poll.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "pool/loader/loader.h"
#include "pool/loader/node_keeper.h"

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
  // Any thread may call, beside loads.
  std::vector<NodeState> nodes() { return keeper_.nodes(); }
  [[nodiscard]] LoadCounters counters();
  std::mutex& mutex() { return mutex_; }

 private:
  using Clock = std::chrono::steady_clock;

  struct Node {
    std::unique_ptr<NodeReader> reader;
    std::uint64_t serial = 0;          // of its connection
    std::uint32_t incarnation = 0;     // of its segment
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

  // A batch, as the keeper knows it.
  class Batch {
   public:
    explicit Batch(NodeKeeper& keeper) : keeper_(keeper) { keeper_.begin_batch(); }
    ~Batch() { keeper_.end_batch(); }
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

   private:
    NodeKeeper& keeper_;
  };

  void fail_node(std::size_t node, const std::string& problem);
  [[nodiscard]] std::size_t rank_of(std::uint64_t id, std::size_t node) const;
  void begin(std::span<const std::uint64_t> ids, std::span<const std::span<std::byte>> targets);
  void take_readers();
  void distribute();
  void enqueue(std::size_t node, std::size_t index);
  void read_from_pool();
  bool post_waiting(std::size_t node);
  bool poll_node(std::size_t node);
  void finish(std::size_t node, std::size_t index, bool good);
  void finish_in_device(const Item& item, const RecordHeader& header, bool expected);
  void check_silent_nodes();
  void wait_for_nodes(Clock::time_point last_progress);
  void look_up_again();
  [[nodiscard]] bool may_be_asked(std::size_t node);
  void read_from_store();

  const PoolConfig& config_;
  const Manifest& manifest_;
  const Placement placement_;
  std::mutex mutex_;
  std::unique_ptr<ReadDomain> domain_;
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
  NodeKeeper keeper_;                 // last: its thread ends before the rest goes
};

}  // namespace tributary::pool
