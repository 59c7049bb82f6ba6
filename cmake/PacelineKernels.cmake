# Compiles code for GPUs, if there is an nvcc that works. Without it the library is the same, but
# has no kernels.

# The GPUs for which there is machine code: A100, H100 and B200. Others from 8.0 on compile the
# intermediate code. nvcc knows B200 from CUDA 12.8 on.
set(PACELINE_GPUS_80_90 -gencode arch=compute_80,code=[sm_80,compute_80]
  -gencode arch=compute_90,code=sm_90)
set(PACELINE_GPUS_80_90_100 ${PACELINE_GPUS_80_90} -gencode arch=compute_100,code=sm_100)

set(PACELINE_KERNEL_FLAGS -std=c++20 --expt-relaxed-constexpr -fmad=false)
if(PACELINE_WERROR)
  list(APPEND PACELINE_KERNEL_FLAGS -Werror all-warnings)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  list(APPEND PACELINE_KERNEL_FLAGS -ccbin ${CMAKE_CXX_COMPILER})
endif()

find_package(CUDAToolkit QUIET)
find_program(PACELINE_NVCC nvcc HINTS ${CUDAToolkit_BIN_DIR})
mark_as_advanced(PACELINE_NVCC)

# Sets PACELINE_KERNEL_GPUS to the longest list of flags that nvcc accepts. A failure is not
# remembered: nvcc may be installed later.
function(paceline_try_nvcc)
  if(PACELINE_KERNEL_GPUS)
    return()
  endif()
  set(why "there is no nvcc")
  set(source ${CMAKE_BINARY_DIR}/CMakeFiles/try_nvcc.cu)
  file(WRITE ${source} "#include <bit>\n#include <cstddef>\n#include <cstdint>\n"
       "extern \"C\" __global__ void nothing() {}\n")
  foreach(gpus IN ITEMS 80_90_100 80_90)
    if(PACELINE_NVCC AND NOT PACELINE_KERNEL_GPUS)
      execute_process(
        COMMAND ${PACELINE_NVCC} --fatbin ${PACELINE_KERNEL_FLAGS} ${PACELINE_GPUS_${gpus}}
                -o ${source}.fatbin ${source}
        RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE why)
      if(result EQUAL 0)
        set(PACELINE_KERNEL_GPUS ${PACELINE_GPUS_${gpus}} CACHE INTERNAL "")
        message(STATUS "Kernels for GPUs: on (${PACELINE_NVCC}, ${gpus})")
      endif()
    endif()
  endforeach()
  if(NOT PACELINE_KERNEL_GPUS)
    string(STRIP "${why}" why)
    message(STATUS "Kernels for GPUs: off (${why})")
  endif()
endfunction()

# Includes what nvcc makes of `source` in the source file `into`, as PACELINE_KERNEL_IMAGE. Both are
# of this folder.
function(paceline_add_kernels source into)
  paceline_try_nvcc()
  if(NOT PACELINE_KERNEL_GPUS)
    return()
  endif()
  set(from ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  get_filename_component(name ${source} NAME_WE)
  set(image ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
  add_custom_command(OUTPUT ${image}
    COMMAND ${PACELINE_NVCC} --fatbin ${PACELINE_KERNEL_FLAGS} ${PACELINE_KERNEL_GPUS}
            -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/comm/base/include
            -MD -MF ${image}.d -MT ${image} -o ${image} ${from}
    DEPENDS ${from} DEPFILE ${image}.d VERBATIM
    COMMENT "Compiling ${source} for GPUs")
  set_property(SOURCE ${into} APPEND PROPERTY OBJECT_DEPENDS ${image})
  set_property(SOURCE ${into} APPEND PROPERTY COMPILE_DEFINITIONS
    PACELINE_KERNEL_IMAGE="${image}")
endfunction()
