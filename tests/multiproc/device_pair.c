/* One process with two devices of a stand-in (tests/standins): a communicator for each, and one
 * thread that calls both, in groups. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <paceline/paceline.h>

enum { kDevices = 2, kCount = 300000, kSteps = 5 };

static void* library;

/* A call of the driver, found as the CUDA runtime finds it. */
static void* find(const char* name) {
  void* const symbol = dlsym(library, name);
  if (symbol == NULL) {
    fprintf(stderr, "no %s\n", name);
    exit(2);
  }
  return symbol;
}

static void check(plResult_t result, plComm_t comm) {
  if (result == plSuccess) return;
  fprintf(stderr, "%s\n", plGetLastError(comm));
  exit(1);
}

static void check_driver(int result) {
  if (result != 0) exit(2);
}

int main(void) {
  plComm_t comms[kDevices];
  plStream_t streams[kDevices];
  void* contexts[kDevices];
  uintptr_t memory[kDevices];
  static int32_t seen[kCount];

  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) return 2;
  int (*init)(unsigned);
  int (*retain)(void**, int);
  int (*set_current)(void*);
  int (*allocate)(uintptr_t*, size_t);
  int (*copy_down)(void*, uintptr_t, size_t);
  int (*make_stream)(plStream_t*, unsigned);
  int (*fill)(uintptr_t, unsigned, size_t, plStream_t);
  *(void**)&init = find("cuInit");
  *(void**)&retain = find("cuDevicePrimaryCtxRetain");
  *(void**)&set_current = find("cuCtxSetCurrent");
  *(void**)&allocate = find("cuMemAlloc_v2");
  *(void**)&copy_down = find("cuMemcpyDtoH_v2");
  *(void**)&make_stream = find("cuStreamCreate");
  *(void**)&fill = find("cuMemsetD32Async");

  check(plCommInitAll(comms, kDevices, NULL), NULL);
  check_driver(init(0));
  for (int i = 0; i < kDevices; ++i) {
    check_driver(retain(&contexts[i], i));
    check_driver(set_current(contexts[i]));
    check_driver(make_stream(&streams[i], 1));
    check_driver(allocate(&memory[i], kCount * sizeof(int32_t)));
  }
  for (int step = 1; step <= kSteps; ++step) {
    for (int i = 0; i < kDevices; ++i) {
      check_driver(set_current(contexts[i]));
      check_driver(fill(memory[i], (unsigned)(step + i), kCount, streams[i]));
    }
    plGroupStart();
    for (int i = 0; i < kDevices; ++i)
      check(plAllReduce((void*)memory[i], (void*)memory[i], kCount, plInt32, plSum, comms[i],
                        streams[i]),
            comms[i]);
    check(plGroupEnd(), NULL);
  }
  for (int i = 0; i < kDevices; ++i) {
    check_driver(set_current(contexts[i]));
    check_driver(copy_down(seen, memory[i], sizeof seen));
    for (int j = 0; j < kCount; ++j) {
      if (seen[j] == 2 * kSteps + 1) continue;
      fprintf(stderr, "device %d, element %d is %d\n", i, j, seen[j]);
      return 1;
    }
  }
  for (int i = 0; i < kDevices; ++i) check(plCommDestroy(comms[i]), NULL);
  printf("right on %d devices\n", kDevices);
  return 0;
}
