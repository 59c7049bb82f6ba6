# One target per folder: paceline_add_folder(<name> SOURCES … LINK … APART …), the last as
# paceline_compile_by_folder takes it.
# Each is an object library with the alias paceline::<name>; libpaceline is made of their objects,
# and tests and programs link paceline::internal, the same objects as a static library.

set(PACELINE_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them")
option(PACELINE_WERROR "Treat warnings as errors" OFF)
set(PACELINE_UNITY "OFF" CACHE STRING "Which files are compiled together: OFF, TESTS or ALL")

add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
                    $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual>
                    # Designated initialisers leave out what keeps its default.
                    -Wno-missing-field-initializers
                    # GCC 12 takes "text" + std::string for an overlap (GCC bug 105651).
                    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# Nobody replaces a function inside libpaceline: its own calls need no detour and may be inlined.
add_compile_options(-fno-semantic-interposition)
if(PACELINE_WERROR)
  add_compile_options(-Werror)
endif()
if(PACELINE_SANITIZE)
  # Where a null pointer or an object that is too small is touched, the address sanitizer finds it;
  # one that is only formed is not found.
  add_compile_options(-fsanitize=${PACELINE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize=null,object-size -fno-sanitize-recover=all
                      # It does not see fences: comm/doorbell.h, which tests/interleave looks after.
                      $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
  add_link_options(-fsanitize=${PACELINE_SANITIZE})
  # What every program asks of them; ASAN_OPTIONS and UBSAN_OPTIONS come after it. Up to GCC 13 and
  # LLVM 16 a block of a thread's dynamic storage that begins 16 bytes into a page is taken for one
  # of an old glibc, with its place and size in front, and the search for leaks touches what these
  # would be: "Tracer caught signal 11" (google/sanitizers issue 1322). Hence the last option.
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

# The standard library's headers took a third of a file's time in the compiler: they are read once
# for all folders. Files still include what they use: -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds.
function(paceline_add_headers)
  file(CONFIGURE OUTPUT precompiled.cc CONTENT "")
  add_library(paceline_headers OBJECT ${CMAKE_CURRENT_BINARY_DIR}/precompiled.cc)
  target_precompile_headers(paceline_headers PRIVATE
    <algorithm> <array> <chrono> <functional> <map> <memory> <optional> <span> <string>
    <string_view> <utility> <vector> <tl/expected.hpp>)
  target_link_libraries(paceline_headers PRIVATE tl::expected)
endfunction()

# Files of `target` may be compiled as one: a name in an unnamed namespace stands for one thing in
# its whole folder.
function(paceline_allow_unity target)
  # What is in a .cc file stands in an #include then, and locals beside constants of other files.
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage -Wno-shadow)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
endfunction()

# With PACELINE_UNITY=ALL a folder's files are compiled as one, but those of APART.
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
