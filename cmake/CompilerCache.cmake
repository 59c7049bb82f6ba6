# Compiles through ccache where it is installed. Clones in different folders share its results, as
# paths are relative to the source folder; in Debug they are absolute, so that gdb finds the source.
option(PACELINE_CCACHE "Compile through ccache where it is installed" ON)

find_program(CCACHE_PROGRAM ccache)
if(PACELINE_CCACHE AND CCACHE_PROGRAM AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND
   NOT CMAKE_CXX_COMPILER_LAUNCHER)
  message(STATUS "Compiler cache: on (${CCACHE_PROGRAM})")
  # A precompiled header is hashed by its sources, which ccache cannot see without the first two.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    ${CCACHE_PROGRAM})
  add_compile_options(
    -fpch-preprocess $<$<NOT:$<CONFIG:Debug>>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}=.>)
else()
  message(STATUS "Compiler cache: off")
endif()
