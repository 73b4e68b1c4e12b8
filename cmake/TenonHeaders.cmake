# Header-only libraries: tenon_boost (Boost's headers, nothing compiled) and tenon_json
# (nlohmann-json). Headers are the same for every target, so a cross build uses the host's: through
# a link of their own, since the rest of the host's include directory must stay out of sight.
function(tenon_header_library target header folder package)
  find_path(${target}_INCLUDE_DIR ${header}
    PATHS /usr/include /usr/local/include NO_CMAKE_FIND_ROOT_PATH)
  if(NOT ${target}_INCLUDE_DIR)
    message(FATAL_ERROR "${header} is missing (Debian: ${package})")
  endif()
  set(directory ${${target}_INCLUDE_DIR})
  if(CMAKE_CROSSCOMPILING)
    set(directory ${PROJECT_BINARY_DIR}/host-headers/${folder})
    file(MAKE_DIRECTORY ${directory})
    file(CREATE_LINK ${${target}_INCLUDE_DIR}/${folder} ${directory}/${folder} SYMBOLIC)
  endif()
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${directory})
endfunction()

tenon_header_library(tenon_boost boost/dll/shared_library.hpp boost libboost-dev)
tenon_header_library(tenon_json nlohmann/json.hpp nlohmann nlohmann-json3-dev)
# Boost.DLL over std::filesystem, so that no compiled Boost library is needed.
target_compile_definitions(tenon_boost INTERFACE BOOST_DLL_USE_STD_FS)
