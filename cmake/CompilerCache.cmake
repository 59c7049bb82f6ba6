# Compiles through ccache if it is installed. Paths are relative to the source folder, so clones in
# different folders share cached results. In Debug, paths are absolute, so that gdb finds the
# sources.
option(PACELINE_CCACHE "Compile through ccache where it is installed" ON)

find_program(CCACHE_PROGRAM ccache)
if(PACELINE_CCACHE AND CCACHE_PROGRAM AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND
   NOT CMAKE_CXX_COMPILER_LAUNCHER)
  message(STATUS "Compiler cache: on (${CCACHE_PROGRAM})")
  # ccache hashes a precompiled header by its source files. It needs the first two settings to see
  # them.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    ${CCACHE_PROGRAM})
  add_compile_options(
    -fpch-preprocess $<$<NOT:$<CONFIG:Debug>>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>)
else()
  message(STATUS "Compiler cache: off")
endif()
