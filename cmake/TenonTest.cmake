# tenon_add_test(<name> SOURCES … [LIBRARIES …] LABELS … [ENVIRONMENT …] [TIMEOUT seconds])
#
# One GoogleTest program; every test in it becomes a test of ctest, under its own name.
function(tenon_add_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS;ENVIRONMENT;ARGS" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tenon_options GTest::gtest GTest::gtest_main ${arg_LIBRARIES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_compile_definitions(${name} PRIVATE
    TENON_TEST_DATA="${PROJECT_SOURCE_DIR}/tests" TENON_BUILD_DIR="${PROJECT_BINARY_DIR}"
    TENON_EMULATED=$<BOOL:${CMAKE_CROSSCOMPILING}>)
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST
    PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT} ENVIRONMENT "${arg_ENVIRONMENT}")
endfunction()

# Where plugins that exist for the tests only are built.
set(TENON_TEST_PLUGIN_DIR ${PROJECT_BINARY_DIR}/tests/plugins)

# tenon_discover_variants(<program> LABELS … [ENVIRONMENT …] [TIMEOUT seconds]): the tests of a
# GoogleTest program once per CPU variant, as "<variant>/<test>". The program checks that the
# variant asked for is the one in use (tests/support/variant.h) and skips where the machine lacks it.
function(tenon_discover_variants program)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;ENVIRONMENT" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()
  set_target_properties(${program} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_compile_definitions(${program} PRIVATE TENON_TEST_DATA="${PROJECT_SOURCE_DIR}/tests")
  foreach(variant ${TENON_CPU_VARIANTS})
    gtest_discover_tests(${program} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${variant}/"
      TEST_LIST ${program}_${variant}
      PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
                 ENVIRONMENT "TENON_CPU_VARIANT=${variant};${arg_ENVIRONMENT}")
  endforeach()
endfunction()
