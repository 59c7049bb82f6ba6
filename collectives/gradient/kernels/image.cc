#include "collectives/gradient/kernels/image.h"

#include <cstddef>
#include <iterator>
#include <span>

#include "comm/base/try.h"

#ifdef PACELINE_KERNEL_IMAGE
// The assembler includes the file.
asm(".pushsection .rodata, \"a\"\n"
    ".balign 16\n"
    ".globl paceline_kernel_image, paceline_kernel_image_end\n"
    ".hidden paceline_kernel_image, paceline_kernel_image_end\n"
    "paceline_kernel_image: .incbin \"" PACELINE_KERNEL_IMAGE
    "\"\n"
    "paceline_kernel_image_end:\n"
    ".popsection\n");
extern "C" {
extern const std::byte paceline_kernel_image[] __attribute__((visibility("hidden")));
extern const std::byte paceline_kernel_image_end[] __attribute__((visibility("hidden")));
}
#endif

namespace paceline {
namespace {

#define PACELINE_NAME(name, function, Arguments) "paceline_" #name,
constexpr const char* kNames[] = {PACELINE_GRADIENT_KERNELS(PACELINE_NAME)};
#undef PACELINE_NAME

std::span<const std::byte> image_bytes() {
#ifdef PACELINE_KERNEL_IMAGE
  return {paceline_kernel_image, paceline_kernel_image_end};
#else
  return {};
#endif
}

}  // namespace

bool has_gradient_kernels() { return !image_bytes().empty(); }

Status load_gradient_kernels(Device& device) {
  for (std::size_t i = 0; i < std::size(kNames); ++i)
    PACELINE_TRY(device.load(gradient_kernel(static_cast<GradientKernel>(i))));
  return {};
}

Kernel gradient_kernel(GradientKernel kernel) {
  static const KernelImage image{.bytes = image_bytes()};
  return {.image = &image, .name = kNames[static_cast<std::size_t>(kernel)]};
}

}  // namespace paceline
