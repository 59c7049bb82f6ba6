#include "collectives/gradient/kernels/image.h"

#ifdef PACELINE_KERNEL_IMAGE
// The assembler includes the file.
asm(".pushsection .rodata, \"a\"\n"
    ".balign 16\n"
    "paceline_kernel_image: .incbin \"" PACELINE_KERNEL_IMAGE
    "\"\n"
    "paceline_kernel_image_end:\n"
    ".popsection\n");
extern "C" {
extern const std::byte paceline_kernel_image __attribute__((visibility("hidden")));
extern const std::byte paceline_kernel_image_end __attribute__((visibility("hidden")));
}
#endif

namespace paceline {
namespace {

std::span<const std::byte> image_bytes() {
#ifdef PACELINE_KERNEL_IMAGE
  return {&paceline_kernel_image, &paceline_kernel_image_end};
#else
  return {};
#endif
}

}  // namespace

bool has_gradient_kernels() { return !image_bytes().empty(); }

bool can_run_gradient_kernels(Device& device) {
  return device.can_run(gradient_kernel("paceline_look_float32"));
}

Kernel gradient_kernel(const char* name) {
  static const KernelImage image{.bytes = image_bytes()};
  return {.image = &image, .name = name};
}

}  // namespace paceline
