# tenon_add_plugin(<family>-<variant>
#   SOURCES …                 all code of a simple plugin, or
#   KERNELS … BASELINE …      code compiled with OPTIONS, and code that runs before the variant is
#                             accepted, compiled without them
#   SIMD <header>             the SIMD header the kernels are written over
#   OPTIONS …                 compiler options of the instruction set
#   COMPONENT <name>          install component; nothing is installed without one
#   OUTPUT_DIRECTORY <dir>)   where the file is built; default: where the library looks
#
# The result exports one symbol, tenon_plugin_entry_v1, and may leave no symbol undefined.
set(TENON_PLUGIN_SUBDIR tenon/plugins-1)
set(TENON_PLUGIN_MAP ${CMAKE_CURRENT_LIST_DIR}/plugin.map)
set(TENON_PLUGIN_MODE ${CMAKE_CURRENT_LIST_DIR}/PluginMode.cmake)

# `plugins` builds those that are installed.
add_custom_target(plugins)

# The loader refuses plugins in directories that others may write; a umask of 002 would make such.
if(NOT CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS)
  set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
    GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
endif()

function(tenon_add_plugin name)
  cmake_parse_arguments(arg "" "SIMD;COMPONENT;OUTPUT_DIRECTORY" "SOURCES;KERNELS;BASELINE;OPTIONS" ${ARGN})
  set(target tenon-${name})
  # Unique symbols would keep a plugin in the process for ever; only GCC makes such.
  set(compile_flags $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)

  add_library(${target} MODULE ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE tenon_options)
  foreach(part KERNELS BASELINE)
    if(arg_${part})
      string(TOLOWER ${target}_${part} object)
      add_library(${object} OBJECT ${arg_${part}})
      target_link_libraries(${object} PRIVATE tenon_options)
      target_compile_options(${object} PRIVATE ${compile_flags})
      string(TOLOWER ${part} tag)
      target_compile_definitions(${object} PRIVATE TENON_KIT_TAG=${tag})  # tenon/kit/tag.h
      target_sources(${target} PRIVATE $<TARGET_OBJECTS:${object}>)
      if(part STREQUAL "KERNELS")
        target_compile_options(${object} PRIVATE ${arg_OPTIONS})
        if(arg_SIMD)
          target_compile_definitions(${object} PRIVATE TENON_SIMD_HEADER="plugins/cpu/simd/${arg_SIMD}")
        endif()
      endif()
    endif()
  endforeach()
  target_compile_options(${target} PRIVATE ${compile_flags})
  target_link_options(${target} PRIVATE
    -Wl,--version-script=${TENON_PLUGIN_MAP} -Wl,-z,now -Wl,-z,relro -Wl,--exclude-libs,ALL
    $<$<NOT:$<BOOL:${TENON_SANITIZED}>>:-Wl,-z,defs>)
  set_target_properties(${target} PROPERTIES PREFIX "" LINK_DEPENDS ${TENON_PLUGIN_MAP})
  if(NOT arg_OUTPUT_DIRECTORY)
    set(arg_OUTPUT_DIRECTORY ${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/${TENON_PLUGIN_SUBDIR})
  endif()
  set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${arg_OUTPUT_DIRECTORY})
  add_custom_command(TARGET ${target} POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} -DFILE=$<TARGET_FILE:${target}> -P ${TENON_PLUGIN_MODE})
  if(arg_COMPONENT)
    install(TARGETS ${target} LIBRARY
      DESTINATION ${CMAKE_INSTALL_LIBDIR}/${TENON_PLUGIN_SUBDIR} COMPONENT ${arg_COMPONENT})
    set_property(GLOBAL APPEND PROPERTY TENON_PLUGINS ${target})
    add_dependencies(plugins ${target})
  endif()
endfunction()
