# cmake -DQEMU=… -DBIN=… -DMODEL=… -P nehalem.cmake: rt-info and rt-run on an emulated Nehalem.
if(NOT QEMU)
  if(DEFINED ENV{CI})
    message(FATAL_ERROR "qemu-x86_64 is missing")
  endif()
  message("skipped: qemu-x86_64 is missing")
  return()
endif()

execute_process(COMMAND ${QEMU} -cpu Nehalem ${BIN}/rt-info --plugins
  OUTPUT_VARIABLE plugins COMMAND_ERROR_IS_FATAL ANY)
if(NOT plugins MATCHES "loaded +cpu +x64 ")
  message(FATAL_ERROR "the baseline was not loaded:\n${plugins}")
endif()
foreach(variant avx2 avx512)
  if(NOT plugins MATCHES "cpu-features +cpu +${variant} ")
    message(FATAL_ERROR "${variant} was not refused for its needs:\n${plugins}")
  endif()
endforeach()

execute_process(COMMAND ${QEMU} -cpu Nehalem ${BIN}/rt-run ${MODEL} -p "Once upon a time" -n 12 --temp 0
  OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
if(NOT text MATCHES "^Once upon a time, there was a little girl named Lily")
  message(FATAL_ERROR "another text than the reference's:\n${text}")
endif()
