// A loader's or operator's connection to one node: greeting, table, lease. One thread's.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pool/loader/stream.h"
#include "pool/transport/transport.h"

namespace tributary::pool {

// What a connection is for.
enum class LinkUse : std::uint8_t { operate, read };

struct LinkTarget {
  std::string address;
  std::string node;  // the name that it must give
  std::string pool;
  std::uint64_t manifest = 0;
  std::string token;
};

inline constexpr Duration kAnswerTime = Duration::seconds(10);

class NodeLink {
 public:
  // Throws StreamError that names the node: does not answer, is another one, has another manifest
  // (two pools of one name), or refuses the token.
  NodeLink(const LinkTarget& target, LinkUse use, Duration connect_time = Duration::seconds(2));

  [[nodiscard]] const Welcome& welcome() const { return welcome_; }
  [[nodiscard]] RemoteMemory memory() const;
  // Changes after generation() in order; generation() is what the node's table has then.
  void refresh(const std::function<void(const PlacedRecord&)>& apply);
  // The whole table again; generation() stays.
  void refresh_all(const std::function<void(const PlacedRecord&)>& apply);
  // Keeps the lease. True: the table has changed, or the lease was lost: refresh().
  bool renew();
  std::vector<PlacedRecord> lookup(const std::vector<std::uint64_t>& ids);
  void report_corrupt(const PlacedRecord& record);
  std::string command(CommandKind kind, std::uint64_t first, std::uint64_t count);
  std::string status();

  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  [[nodiscard]] bool closed() const { return stream_.closed(); }

 private:
  void greet(const LinkTarget& target, LinkUse use);
  std::uint64_t read_table(std::uint64_t since,
                           const std::function<void(const PlacedRecord&)>& apply);

  MessageStream stream_;
  Welcome welcome_;
  std::uint64_t generation_ = 0;
};

}  // namespace tributary::pool
