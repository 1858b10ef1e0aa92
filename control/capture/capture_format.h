// How captured frames are written: a pcapng file (`tributary capture`), or lines of text that say
// what became of each (`tributary trace`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "dataplane/io/capture.h"

namespace tributary::control {

// Each call appends to `out`. One thread at a time.
class CaptureFormat {
 public:
  virtual ~CaptureFormat() = default;
  virtual void begin(std::string& out) = 0;
  // `bytes` is the beginning of the frame, as far as it was kept.
  virtual void add(std::string& out, std::size_t lcore, const dataplane::CapturedFrame& frame,
                   std::span<const std::byte> bytes) = 0;
  // `missed`: frames that found no room. `why`: who ended it, if it was not complete; the client
  // looks for that: in the comment of a file's last block, in the last line of a text, after
  // kEnded.
  virtual void end(std::string& out, std::uint64_t missed, const std::string& why) = 0;
  static constexpr const char* kEnded = "ended: ";
};

// `ports`: names, by index. `snap`: bytes kept of a frame.
std::unique_ptr<CaptureFormat> pcapng_format(std::vector<std::string> ports, std::uint32_t snap);
// Where there is more than one of `lcores`, each line says on which it was.
std::unique_ptr<CaptureFormat> trace_format(std::vector<std::string> ports, std::size_t lcores);

}  // namespace tributary::control
