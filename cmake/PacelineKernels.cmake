# Compiles code for GPUs, if there is an nvcc that works. Without it the library is the same, but
# has no kernels.

# The GPUs for which there is machine code: A100, H100 and B200. Newer ones compile the
# intermediate code.
set(PACELINE_KERNEL_FLAGS -std=c++20 --expt-relaxed-constexpr -fmad=false -Werror all-warnings
  -gencode arch=compute_80,code=[sm_80,compute_80]
  -gencode arch=compute_90,code=sm_90
  -gencode arch=compute_100,code=sm_100)

find_package(CUDAToolkit QUIET)
find_program(PACELINE_NVCC nvcc HINTS ${CUDAToolkit_BIN_DIR})
mark_as_advanced(PACELINE_NVCC)

# Sets PACELINE_NVCC_WORKS. One that does not know these GPUs, or the C++ compiler, does not.
function(paceline_try_nvcc)
  if(DEFINED PACELINE_NVCC_WORKS)
    return()
  endif()
  set(works OFF)
  set(why "there is no nvcc")
  if(PACELINE_NVCC)
    set(source ${CMAKE_BINARY_DIR}/CMakeFiles/try_nvcc.cu)
    file(WRITE ${source} "extern \"C\" __global__ void nothing() {}\n")
    execute_process(
      COMMAND ${PACELINE_NVCC} --fatbin ${PACELINE_KERNEL_FLAGS} -o ${source}.fatbin ${source}
      RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE why)
    if(result EQUAL 0)
      set(works ON)
    endif()
  endif()
  if(NOT works)
    string(STRIP "${why}" why)
    message(STATUS "Kernels for GPUs: off (${why})")
  else()
    message(STATUS "Kernels for GPUs: on (${PACELINE_NVCC})")
  endif()
  set(PACELINE_NVCC_WORKS ${works} CACHE INTERNAL "")
endfunction()

# Includes what nvcc makes of `source` in the source file `into`, as PACELINE_KERNEL_IMAGE. Both are
# of this folder.
function(paceline_add_kernels source into)
  paceline_try_nvcc()
  if(NOT PACELINE_NVCC_WORKS)
    return()
  endif()
  set(from ${CMAKE_CURRENT_SOURCE_DIR}/${source})
  get_filename_component(name ${source} NAME_WE)
  set(image ${CMAKE_CURRENT_BINARY_DIR}/${name}.fatbin)
  add_custom_command(OUTPUT ${image}
    COMMAND ${PACELINE_NVCC} --fatbin ${PACELINE_KERNEL_FLAGS} -I${PROJECT_SOURCE_DIR}
            -I${PROJECT_SOURCE_DIR}/comm/base/include -MD -MF ${image}.d -MT ${image}
            -o ${image} ${from}
    DEPENDS ${from} DEPFILE ${image}.d VERBATIM
    COMMENT "Compiling ${source} for GPUs")
  set_property(SOURCE ${into} APPEND PROPERTY OBJECT_DEPENDS ${image})
  set_property(SOURCE ${into} APPEND PROPERTY COMPILE_DEFINITIONS
    PACELINE_KERNEL_IMAGE="${image}")
endfunction()
