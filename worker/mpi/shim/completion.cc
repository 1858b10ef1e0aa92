// MPI's calls that look at requests: they first complete those of offloaded collectives.
#include "worker/mpi/shim/route.h"

using namespace tributary::mpi;  // NOLINT: this file is the library's face in C

namespace {

// Waits until one of the array is completed: `test` asks MPI.
template <typename Test, typename Wait>
int wait_for_any(int count, MPI_Request requests[], Test test, Wait wait) {
  while (true) {
    complete_finished();
    bool done = false;
    const int result = test(&done);
    if (done || result != MPI_SUCCESS) return result;
    if (!wait_for_some(count, requests)) return wait();
  }
}

}  // namespace

TRIBUTARY_MPI_DEFINE(Wait, MPI_Request* request, MPI_Status* status) {
  if (any_pending()) wait_pending(*request);
  return forward(&MpiFunctions::Wait, request, status);
}

TRIBUTARY_MPI_DEFINE(Waitall, int count, MPI_Request requests[], MPI_Status statuses[]) {
  for (int i = 0; i < count && any_pending(); ++i) wait_pending(requests[i]);
  return forward(&MpiFunctions::Waitall, count, requests, statuses);
}

TRIBUTARY_MPI_DEFINE(Waitany, int count, MPI_Request requests[], int* index, MPI_Status* status) {
  const auto wait = [&] { return forward(&MpiFunctions::Waitany, count, requests, index, status); };
  if (!any_pending()) return wait();
  return wait_for_any(
      count, requests,
      [&](bool* done) {
        int flag = 0;
        const int result = real().Testany(count, requests, index, &flag, status);
        *done = flag != 0;
        return result;
      },
      wait);
}

TRIBUTARY_MPI_DEFINE(Waitsome, int count, MPI_Request requests[], int* done_count, int indices[],
                     MPI_Status statuses[]) {
  const auto wait = [&] {
    return forward(&MpiFunctions::Waitsome, count, requests, done_count, indices, statuses);
  };
  if (!any_pending()) return wait();
  return wait_for_any(
      count, requests,
      [&](bool* done) {
        const int result = real().Testsome(count, requests, done_count, indices, statuses);
        *done = *done_count != 0;
        return result;
      },
      wait);
}

TRIBUTARY_MPI_DEFINE(Test, MPI_Request* request, int* flag, MPI_Status* status) {
  complete_finished();
  return forward(&MpiFunctions::Test, request, flag, status);
}

TRIBUTARY_MPI_DEFINE(Testall, int count, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  complete_finished();
  return forward(&MpiFunctions::Testall, count, requests, flag, statuses);
}

TRIBUTARY_MPI_DEFINE(Testany, int count, MPI_Request requests[], int* index, int* flag,
                     MPI_Status* status) {
  complete_finished();
  return forward(&MpiFunctions::Testany, count, requests, index, flag, status);
}

TRIBUTARY_MPI_DEFINE(Testsome, int count, MPI_Request requests[], int* done_count, int indices[],
                     MPI_Status statuses[]) {
  complete_finished();
  return forward(&MpiFunctions::Testsome, count, requests, done_count, indices, statuses);
}

TRIBUTARY_MPI_DEFINE(Request_get_status, MPI_Request request, int* flag, MPI_Status* status) {
  complete_finished();
  return forward(&MpiFunctions::Request_get_status, request, flag, status);
}
