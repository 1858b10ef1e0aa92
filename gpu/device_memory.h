// Memory of a GPU that a program names where host memory may stand: which pointers are such memory,
// and copies of it by the driver.
//
// The driver is asked about every pointer each time: an answer that was kept would be wrong once
// the program has freed the memory. A pointer to a GPU's memory exists only in a process that has
// loaded the driver, so a process without it has none, and is not made to load it.
#pragma once

#include <cstddef>

namespace tributary::gpu {

// True if the driver says that the pointer is memory of a GPU, managed memory included.
bool is_device_memory(const void* pointer);
// Copies whole when they return, in the order of the device's default stream. Throw GpuError.
void copy_from_device(void* host, const void* device, std::size_t bytes);
void copy_to_device(void* device, const void* host, std::size_t bytes);

}  // namespace tributary::gpu
