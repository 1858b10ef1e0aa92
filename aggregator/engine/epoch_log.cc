#include "aggregator/engine/epoch_log.h"

namespace tributary::aggregator {

void EpochLog::add(EpochRecord record) {
  if (total_ == 0) first_ = record.serial;
  record.first = first_;
  record.nth = total_;
  records_[total_++ % kMost] = record;
}

void EpochLog::add_newer(std::uint64_t serial, std::vector<EpochRecord>& into) const {
  std::uint64_t from = total_;
  while (from > 0 && total_ - from < kMost && at(from - 1).serial > serial) --from;
  for (; from < total_; ++from) into.push_back(at(from));
}

}  // namespace tributary::aggregator
