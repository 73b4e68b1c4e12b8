# One step of the arm64 tests: cmake -DSTEP=<build|test> [-DLABEL=…] [-DCPU=…] -DSOURCE=… -DBUILD=… -P run.cmake
# Skipped with a reason where the cross compiler or qemu is missing, except in continuous
# integration, which installs both.
foreach(program aarch64-linux-gnu-g++ qemu-aarch64)
  find_program(found_${program} ${program})
  if(NOT found_${program})
    if(DEFINED ENV{CI})
      message(FATAL_ERROR "${program} is missing")
    endif()
    message("arm64 tests skipped: ${program} is missing")
    return()
  endif()
endforeach()

if(STEP STREQUAL "build")
  execute_process(COMMAND ${CMAKE_COMMAND} --preset arm64 -B ${BUILD}
    WORKING_DIRECTORY ${SOURCE} COMMAND_ERROR_IS_FATAL ANY)
  execute_process(COMMAND ${CMAKE_COMMAND} --build ${BUILD} COMMAND_ERROR_IS_FATAL ANY)
else()
  if(CPU)
    set(ENV{QEMU_CPU} ${CPU})
  endif()
  execute_process(COMMAND ${CMAKE_CTEST_COMMAND} --test-dir ${BUILD} -L "${LABEL}" --parallel 2
    --output-on-failure --no-tests=error COMMAND_ERROR_IS_FATAL ANY)
endif()
