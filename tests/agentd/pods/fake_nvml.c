/* A library with NVML's names: two GPUs, the second of which does not answer. */
#include <stdlib.h>

struct memory {
  unsigned long long total, free, used;
};
struct utilization {
  unsigned gpu, memory;
};

int nvmlInit_v2(void) {
  const char* code = getenv("FAKE_NVML_INIT");
  return code ? atoi(code) : 0;
}
int nvmlShutdown(void) {
  return 0;
}
const char* nvmlErrorString(int code) {
  return code == 15 ? "GPU is lost" : "Unknown Error";
}
int nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return 0;
}
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** handle) {
  static int gpu;
  *handle = &gpu;
  return index == 0 ? 0 : 15;
}
int nvmlDeviceGetMemoryInfo(void* gpu, struct memory* memory) {
  (void)gpu;
  memory->total = 80ULL << 30;
  memory->free = 60ULL << 30;
  memory->used = 20ULL << 30;
  return 0;
}
int nvmlDeviceGetUtilizationRates(void* gpu, struct utilization* used) {
  (void)gpu;
  used->gpu = 35;
  used->memory = 10;
  return 0;
}
int nvmlDeviceGetMinorNumber(void* gpu, unsigned* minor) {
  (void)gpu;
  *minor = 3;
  return 0;
}
