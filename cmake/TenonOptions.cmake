# Warnings, visibility and sanitizers, as one interface target that every target of the tree links.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 11)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

set(TENON_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined or thread")
# Without commas, for generator expressions.
if(TENON_SANITIZE)
  set(TENON_SANITIZED ON)
else()
  set(TENON_SANITIZED OFF)
endif()
option(TENON_WERROR "Treat warnings as errors" OFF)

add_library(tenon_options INTERFACE)
target_include_directories(tenon_options INTERFACE
  ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/sdk/include)
target_compile_options(tenon_options INTERFACE
  -Wall -Wextra -Wshadow $<$<BOOL:${TENON_WERROR}>:-Werror>
  # One rounding per operation as written, so that results do not depend on the compiler's mood;
  # kernels ask for fused multiply-add by name.
  -ffp-contract=off)
if(TENON_SANITIZE)
  target_compile_options(tenon_options INTERFACE
    -fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    # Callers written in C may pass any number for an enum; the API checks them.
    -fno-sanitize=enum)
  target_link_options(tenon_options INTERFACE -fsanitize=${TENON_SANITIZE})
endif()

find_program(TENON_CCACHE ccache)
if(TENON_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_C_COMPILER_LAUNCHER ${TENON_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TENON_CCACHE})
endif()
