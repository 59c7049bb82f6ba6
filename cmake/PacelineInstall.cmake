# Install and export: a stranger does find_package(Paceline) and links Paceline::paceline.
include(CMakePackageConfigHelpers)

set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Paceline)
install(TARGETS paceline EXPORT PacelineTargets)
install(TARGETS paceline_cli paceline_probe RUNTIME)
if(TARGET paceline_remote)
  install(TARGETS paceline_remote LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
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
