# One target per folder: paceline_add_folder(<name> SOURCES … LINK … APART …).
# paceline_compile_by_folder explains APART. Each target is an object library with the alias
# paceline::<name>. libpaceline is built from these objects. Tests and programs link
# paceline::internal, a static library of the same objects.

set(PACELINE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them")
option(PACELINE_WERROR "Treat warnings as errors" OFF)
set(PACELINE_UNITY "OFF" CACHE STRING "Which files are compiled together: OFF, TESTS or ALL")

# CI compiles files together, which turns -Wshadow off (paceline_allow_unity): users' builds and the
# stage dev of tests/nightly/run have it.
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
                    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
                    # Designated initialisers omit members that keep their defaults.
                    -Wno-missing-field-initializers
                    # GCC 12 warns of an overlap in "text" + std::string, wrongly (GCC bug 105651).
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# No function of libpaceline is interposed from outside. So its own calls bypass the PLT and may be
# inlined.
add_compile_options(-fno-semantic-interposition)
if(PACELINE_WERROR)
  add_compile_options(-Werror)
endif()
if(PACELINE_SANITIZE)
  # The address sanitizer finds accesses through a null pointer or beyond an object. Without the
  # checks `null` and `object-size`, forming such a pointer without an access is not reported.
  add_compile_options(-fsanitize=${PACELINE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize=null,object-size -fno-sanitize-recover=all
                      # GCC warns that the thread sanitizer does not support fences. comm/doorbell.h
                      # uses them; tests/interleave checks it.
                      $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  add_link_options(-fsanitize=${PACELINE_SANITIZE})
  # Sanitizer options of every program. ASAN_OPTIONS and UBSAN_OPTIONS override them. The last
  # option avoids "Tracer caught signal 11" (google/sanitizers issue 1322). Up to GCC 13 and LLVM
  # 16, the leak check takes a dynamic TLS block that begins 16 bytes into a page for one of an old
  # glibc, which has its address and size in front. It then reads memory at the address that these
  # bytes would give.
  file(CONFIGURE OUTPUT sanitizer_options.cc CONTENT [[
extern "C" const char* __asan_default_options() {
  return "detect_stack_use_after_return=1:intercept_tls_get_addr=0";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }
]])
  add_library(paceline_sanitizer_options OBJECT ${CMAKE_CURRENT_BINARY_DIR}/sanitizer_options.cc)
  link_libraries(
    $<BUILD_INTERFACE:$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:paceline_sanitizer_options>>)
endif()

set(PACELINE_FOLDERS "" CACHE INTERNAL "")

# Headers of the standard library took a third of the compile time of a file, so they are
# precompiled once for all folders. Files still include what they use: the build also works with
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON.
function(paceline_add_headers)
  file(CONFIGURE OUTPUT precompiled.cc CONTENT "")
  add_library(paceline_headers OBJECT ${CMAKE_CURRENT_BINARY_DIR}/precompiled.cc)
  target_precompile_headers(paceline_headers PRIVATE
    <algorithm> <array> <chrono> <functional> <map> <memory> <optional> <span> <string>
    <string_view> <utility> <vector> <tl/expected.hpp>)
  target_link_libraries(paceline_headers PRIVATE tl::expected)
endfunction()

# The files of `target` may be compiled as one. So a name in an unnamed namespace must be unique in
# its folder.
function(paceline_allow_unity target)
  # A unity build includes .cc files, and a local variable may have the name of another file's
  # constant.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage -Wno-shadow)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
endfunction()

# With PACELINE_UNITY=ALL the files of a folder are compiled as one, except those in APART.
function(paceline_compile_by_folder target)
  cmake_parse_arguments(ARG "" "" "APART" ${ARGN})
  if(NOT PACELINE_UNITY STREQUAL "ALL")
    return()
  endif()
  paceline_allow_unity(${target})
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(REMOVE_ITEM sources ${ARG_APART})
  foreach(source IN LISTS sources)
    cmake_path(ABSOLUTE_PATH source OUTPUT_VARIABLE folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    cmake_path(GET folder PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder})
  endforeach()
endfunction()

function(paceline_add_folder name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;APART" ${ARGN})
  add_library(paceline_${name} OBJECT ${ARG_SOURCES})
  add_library(paceline::${name} ALIAS paceline_${name})
  target_include_directories(paceline_${name} PUBLIC ${PROJECT_SOURCE_DIR})
  if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_include_directories(paceline_${name} PUBLIC ${CMAKE_CURRENT_SOURCE_DIR}/include)
  endif()
  target_link_libraries(paceline_${name} PUBLIC ${ARG_LINK})
  target_precompile_headers(paceline_${name} REUSE_FROM paceline_headers)
  paceline_compile_by_folder(paceline_${name} APART ${ARG_APART})
  set(PACELINE_FOLDERS ${PACELINE_FOLDERS} ${name} CACHE INTERNAL "")
endfunction()

# libpaceline and paceline::internal, from the folders added so far.
function(paceline_add_library)
  add_library(paceline SHARED)
  set(shown ${PROJECT_SOURCE_DIR}/cmake/libpaceline.map)
  target_link_options(paceline PRIVATE -Wl,-Bsymbolic-functions -Wl,--version-script=${shown})
  set_target_properties(paceline PROPERTIES LINK_DEPENDS ${shown})
  add_library(Paceline::paceline ALIAS paceline)
  add_library(paceline_internal STATIC)
  add_library(paceline::internal ALIAS paceline_internal)
  foreach(folder IN LISTS PACELINE_FOLDERS)
    foreach(library IN ITEMS paceline paceline_internal)
      target_sources(${library} PRIVATE $<TARGET_OBJECTS:paceline_${folder}>)
    endforeach()
    target_include_directories(paceline_internal PUBLIC
      $<TARGET_PROPERTY:paceline_${folder},INTERFACE_INCLUDE_DIRECTORIES>)
    get_target_property(source_dir paceline_${folder} SOURCE_DIR)
    if(IS_DIRECTORY ${source_dir}/include)
      target_include_directories(paceline PUBLIC $<BUILD_INTERFACE:${source_dir}/include>)
    endif()
  endforeach()
  target_include_directories(paceline PUBLIC $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  foreach(library IN ITEMS paceline paceline_internal)
    target_compile_features(${library} PUBLIC cxx_std_20)
    target_link_libraries(${library} PUBLIC tl::expected
                                     PRIVATE OpenSSL::Crypto hwy::hwy Threads::Threads)
  endforeach()
  set_target_properties(paceline PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION 0)
endfunction()
