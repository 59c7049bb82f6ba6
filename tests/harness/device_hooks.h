// The fake devices of one stand-in library, as another one uses them. A kernel is a function
// that is called again and again until it returns true.
#pragma once

#include <cstddef>
#include <functional>

#define STANDIN_EXPORTED extern "C" __attribute__((visibility("default")))

/// Adds a kernel to a stream. False: the stream does not exist.
STANDIN_EXPORTED bool standin_launch(void* stream, const std::function<bool()>& kernel);
/// For kernels of the stream: FakeDevice::used_by_kernel().
STANDIN_EXPORTED std::byte* standin_use(void* stream, const void* address, std::size_t bytes,
                                        const char* what);
