#include "manager/pods/job_desk.h"

namespace tributary::manager {

bool has_job(const PodGroup& group) {
  return group.metadata.annotations.contains(kJobRequestAnnotation);
}

JobRequest job_request_of(const PodGroup& group) {
  const auto at = group.metadata.annotations.find(kJobRequestAnnotation);
  if (at == group.metadata.annotations.end()) return {};
  return parse_job_request(at->second, kJobRequestAnnotation);
}

}  // namespace tributary::manager
