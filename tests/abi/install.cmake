# cmake -DBUILD=… -DSOURCE=… -DMODEL=… -DLIBDIR=… -DBINDIR=… -DC_COMPILER=… -DCXX_COMPILER=… -DNM=… -P install.cmake
#
# Installs into a fresh prefix, moves that elsewhere, and uses it as a stranger would: nothing in the
# environment says where it is.
set(scratch ${BUILD}/tests/install)
set(prefix ${scratch}/moved)
file(REMOVE_RECURSE ${scratch})
foreach(name LD_LIBRARY_PATH TENON_PLUGIN_PATH TENON_PLUGIN_ADD_PATH TENON_CPU_VARIANT DESTDIR)
  unset(ENV{${name}})
endforeach()

# run(<what it proves> <pattern of its output> <command> …)
function(run what pattern)
  execute_process(COMMAND ${ARGN} OUTPUT_VARIABLE output ERROR_VARIABLE error RESULT_VARIABLE result)
  if(NOT result EQUAL 0 OR NOT output MATCHES "${pattern}")
    message(FATAL_ERROR "${what}: ended with ${result}, expected '${pattern}' in\n${output}\n${error}")
  endif()
endfunction()

# A package is made under any umask; the loader wants plugins that only their owner may write.
run("install" "" sh -c "umask 002 && '${CMAKE_COMMAND}' --install '${BUILD}' --prefix '${scratch}/first'")
file(RENAME ${scratch}/first ${prefix})
string(REPLACE "." "\\." prefix_pattern "${prefix}")

# ---- no installed file looks for libraries in the working directory --------------------------------
find_program(readelf readelf REQUIRED)
file(GLOB files ${prefix}/${BINDIR}/* ${prefix}/${LIBDIR}/*.so* ${prefix}/${LIBDIR}/tenon/plugins-1/*)
foreach(file ${files})
  execute_process(COMMAND ${readelf} -dW ${file} OUTPUT_VARIABLE dynamic ERROR_QUIET)
  if(dynamic MATCHES "R(UN)?PATH[^\n]*\\[([^]]*)\\]")
    set(elements ":${CMAKE_MATCH_2}:")
    if(elements MATCHES "::|:[^/$:]")
      message(FATAL_ERROR "${file}: empty or relative element in its RUNPATH [${CMAKE_MATCH_2}]")
    endif()
  endif()
endforeach()

set(bin ${prefix}/${BINDIR})
run("the library beside the tools is used" "library +${prefix_pattern}/${LIBDIR}/libtenon\\.so" ${bin}/rt-info --paths)
run("the plugins beside the library are used" "loaded +cpu +[a-z0-9]+ .*${prefix_pattern}/${LIBDIR}/tenon/plugins-1 "
  ${bin}/rt-info --plugins)
run("a model runs" "^Once upon a time, there was" ${bin}/rt-run ${MODEL} -p "Once upon a time" -n 6 --temp 0)

# ---- find_package(ggml), find_package(tenon) -----------------------------------------------------
set(consumer ${scratch}/consumer)
run("find_package" "" ${CMAKE_COMMAND} -S ${SOURCE}/tests/abi/consumer -B ${consumer}
  -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_C_COMPILER=${C_COMPILER} -DCMAKE_CXX_COMPILER=${CXX_COMPILER})
run("a consumer's build" "" ${CMAKE_COMMAND} --build ${consumer})
run("a consumer's program" "^sum 42 CPU\n" ${consumer}/consumer)
run("a consumer's plugin exports its entry alone" "^[0-9a-f]+ T tenon_plugin_entry_v1\n$"
  ${NM} -D --defined-only ${consumer}/plugins/tenon-idle-test.so)
set(ENV{TENON_PLUGIN_ADD_PATH} ${consumer}/plugins)
run("a consumer's program and plugin" "^sum 42 Idle CPU\n" ${consumer}/consumer)
unset(ENV{TENON_PLUGIN_ADD_PATH})

# ---- pkg-config ----------------------------------------------------------------------------------
find_program(pkg_config pkg-config)
if(NOT pkg_config)
  if(DEFINED ENV{CI})
    message(FATAL_ERROR "pkg-config is missing")
  endif()
  return()
endif()
set(ENV{PKG_CONFIG_PATH} ${prefix}/${LIBDIR}/pkgconfig)
execute_process(COMMAND ${pkg_config} --cflags --libs ggml OUTPUT_VARIABLE flags
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run("pkg-config ggml" "" ${C_COMPILER} ${SOURCE}/tests/abi/consumer/consumer.c ${flags}
  -Wl,-rpath,${prefix}/${LIBDIR} -o ${scratch}/by-pkg-config)
run("a program built with pkg-config" "^sum 42 CPU\n" ${scratch}/by-pkg-config)
execute_process(COMMAND ${pkg_config} --cflags tenon OUTPUT_VARIABLE flags
  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${flags}")
run("pkg-config tenon" "" ${CXX_COMPILER} -std=c++17 -fsyntax-only ${flags}
  ${SOURCE}/tests/abi/consumer/plugin.cpp)
file(REMOVE_RECURSE ${scratch})
