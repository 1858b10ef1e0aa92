// The other end of memif control channels, as hostile as its script: it accepts a connection,
// sends the scripted messages at once, says that no more will come, and reads until the client
// goes.
//
// A thread of its own, because the client waits for answers; but the client sees the same messages
// in the same order every time, and no answer depends on time.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "worker/transport/file_descriptor.h"

namespace tributary::fuzz {

class MemifServer {
 public:
  using Script = std::vector<std::vector<std::byte>>;

  MemifServer();
  ~MemifServer();
  MemifServer(const MemifServer&) = delete;
  MemifServer& operator=(const MemifServer&) = delete;

  // An abstract socket name; the client finds it when no such file exists.
  [[nodiscard]] const std::string& path() const { return path_; }
  // For the next connection, of which there must be one. Waits until the last client is done with.
  void set_script(Script script);

 private:
  void run();
  void serve(int client, const Script& script);

  std::string path_;
  worker::FileDescriptor listener_;
  std::mutex mutex_;
  std::condition_variable served_;
  // Under mutex_:
  Script script_;
  bool busy_ = false;  // a script is set and its client has not gone
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tributary::fuzz
