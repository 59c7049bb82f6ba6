# Install and export. Other projects link Paceline by find_package(Paceline) and the target
# Paceline::paceline, or by `pkg-config --cflags --libs paceline`.
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Paceline)
install(TARGETS paceline EXPORT PacelineTargets)
install(TARGETS paceline_cli paceline_probe RUNTIME)
# Builds all that `cmake --install` needs, without the tests. examples/quickstart builds this
# target.
add_custom_target(paceline_installed DEPENDS paceline paceline_cuda paceline_cli paceline_probe)
install(TARGETS paceline_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET paceline_remote)
  install(TARGETS paceline_remote paceline_control LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  add_dependencies(paceline_installed paceline_remote paceline_control)
endif()
if(TARGET paceline_web)
  install(TARGETS paceline_web LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  add_dependencies(paceline_installed paceline_web)
endif()
if(TARGET paceline_stacks)
  install(TARGETS paceline_stacks LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  add_dependencies(paceline_installed paceline_stacks)
endif()
foreach(folder IN ITEMS comm/base telemetry comm collectives)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder}/include/ TYPE INCLUDE)
endforeach()
install(EXPORT PacelineTargets NAMESPACE Paceline:: DESTINATION ${config_dir})
configure_package_config_file(cmake/PacelineConfig.cmake.in PacelineConfig.cmake
                              INSTALL_DESTINATION ${config_dir})
write_basic_package_version_file(PacelineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/PacelineConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/PacelineConfigVersion.cmake DESTINATION ${config_dir})

set(pkgconfig_dir ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH PACELINE_PC_TO_PREFIX ${pkgconfig_dir} ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" PACELINE_PC_TO_PREFIX "${PACELINE_PC_TO_PREFIX}")
file(RELATIVE_PATH PACELINE_PC_TO_INCLUDE ${pkgconfig_dir} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(cmake/paceline.pc.in paceline.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/paceline.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
install(FILES LICENSE CHANGELOG.md TYPE DOC)
install(FILES cmake/thread_sanitizer.supp DESTINATION ${CMAKE_INSTALL_DATADIR}/paceline)
