// One agent's stream for one switch: its reports are read on the caller's thread, documents are
// written on another one, the newest alone.
#pragma once

#include "manager/api/calls.h"

namespace tributary::manager {

class AgentStream {
 public:
  using Stream = grpc::ServerReaderWriter<v1::Document, v1::SwitchMessage>;

  AgentStream(Shared& shared, grpc::ServerContext& context, Stream& stream)
      : shared_(shared), context_(context), stream_(stream) {}

  // Until the agent is gone, another one speaks for the switch, or the manager stops. Throws
  // CallError and std::invalid_argument for agents that are not let in.
  void run(const Identity& caller);

 private:
  std::string enter(const Identity& caller);
  void write_documents();
  void write_until_over();
  void leave() noexcept;

  Shared& shared_;
  grpc::ServerContext& context_;
  Stream& stream_;
  std::string node_;
  std::uint64_t session_ = 0;
};

}  // namespace tributary::manager
