// A file tree as a store. Versions are modification times. A listing follows symbolic links to
// files and folders inside of the tree, and gives their targets' paths, so that a manifest names no
// link; it names and counts the others, and what is no file. Reads follow no link below the tree's
// folder, and go no folder up: a link that is put into a path later cannot lead elsewhere. A file's
// status is read before and after the bytes of every read, which are served only if size and time
// are the manifest's both times. Its device and inode are not compared: nodes may see one tree
// through mounts of their own.
#pragma once

#include <string>

#include "pool/store/listing_count.h"
#include "pool/store/store.h"

namespace tributary::pool {

class FileStore : public Store {
 public:
  // Throws std::invalid_argument unless `directory` is an absolute path.
  explicit FileStore(std::string directory, const ListingLimits& limits = {});
  ~FileStore() override;
  FileStore(const FileStore&) = delete;
  FileStore& operator=(const FileStore&) = delete;

  std::vector<StoreObject> list(const Retry& retry) override;
  void read(const StoreObject& object, std::uint64_t offset, std::span<std::byte> out) override;
  [[nodiscard]] std::unique_ptr<Store> clone() const override;

 protected:
  // Fills `out`. A store in a test lets the file change meanwhile.
  virtual void read_bytes(int file, const std::string& path, std::uint64_t offset,
                          std::span<std::byte> out);

 private:
  class Walk;
  void open_object(const StoreObject& object);
  // Opens the path below the tree's folder, part by part. Throws StoreError.
  int open_without_links(const std::string& below, const std::string& path);
  // The tree's folder without links. Throws StoreError.
  const std::string& root();
  void close_object();

  std::string directory_;
  ListingLimits limits_;
  std::string root_;  // see root()
  // The file read last: records of a shard are read one after the other.
  std::string open_name_;
  int fd_ = -1;
};

}  // namespace tributary::pool
