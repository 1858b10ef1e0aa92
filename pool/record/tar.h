// Members of a tar archive, header by header: POSIX ustar, GNU long names and sizes, pax paths.
//
// Pure: the caller reads the archive's 512-byte blocks. By WebDataset's convention, consecutive
// members whose names are equal up to the first dot of the last part form a sample
// (webdataset/tariterators.py). Members that WebDataset skips lie between without ending it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tributary::pool {

inline constexpr std::size_t kTarBlock = 512;

struct TarMember {
  std::string name;
  std::uint64_t header_offset = 0;  // of its first block, long names included
  std::uint64_t data_offset = 0;
  std::uint64_t bytes = 0;
  [[nodiscard]] std::uint64_t end() const {
    return data_offset + (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
  }
};

class TarParser {
 public:
  enum class Step : std::uint8_t {
    header,  // feed the block at offset()
    body,    // feed `body_bytes()` bytes at offset(): a long name or pax header
    member,  // member() is whole; then feed the block at offset()
    end,     // two empty blocks, or one at the archive's end
    bad,     // problem() has the reason
  };

  // `bytes`: kTarBlock or body_bytes() bytes from offset().
  Step feed(std::span<const std::byte> bytes);

  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::size_t body_bytes() const { return body_bytes_; }
  [[nodiscard]] const TarMember& member() const { return member_; }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  Step feed_header(std::span<const std::byte> block);
  Step feed_body(std::span<const std::byte> body);
  Step fail(const std::string& what);

  std::uint64_t offset_ = 0;
  std::uint64_t first_ = 0;  // of the current member
  bool fresh_ = true;        // no block of it was seen yet
  bool in_body_ = false;
  char body_kind_ = 0;
  std::size_t body_bytes_ = 0;
  bool empty_before_ = false;
  std::string long_name_;
  std::uint64_t pax_size_ = 0;
  bool has_pax_size_ = false;
  TarMember member_;
  std::string problem_;
};

// A member's part in a sample: "dir/0001.left.JPG" is "left.jpg" of "dir/0001".
struct SampleMember {
  std::string key;
  std::string suffix;  // ASCII letters in lower case
};
// nullopt for members that are skipped: those without a dot in the last part of the name, such as
// README; those whose last part begins with one, such as "._0001.jpg"; and "__info__", or what is
// in a folder "__info__".
std::optional<SampleMember> sample_member(std::string_view name);

// The suffixes of one sample.
class SampleSuffixes {
 public:
  // Returns false if the sample has the suffix already, or WebDataset keeps the name for itself.
  bool add(const std::string& suffix);
  void clear() { known_.clear(); }

 private:
  std::vector<std::string> known_;
};

// Lists every member of a record that is a piece of an archive; false if it is not one.
bool list_tar(std::span<const std::byte> piece, std::vector<TarMember>& out);

}  // namespace tributary::pool
