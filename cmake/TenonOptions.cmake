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
set(TENON_SYSTEM_CONFIG_DIR /etc/tenon CACHE PATH "Where tenon.conf and plugins.d are looked for")

# All variants of the architecture; fewer build faster: -DTENON_CPU_VARIANTS=avx2.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64|ARM64")
  set(all_variants neon)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  set(all_variants x64 avx2 avx512)
endif()
set(TENON_CPU_VARIANTS "${all_variants}" CACHE STRING "Variants of the CPU plugin to build")
foreach(variant ${TENON_CPU_VARIANTS})
  if(NOT variant IN_LIST all_variants)
    message(FATAL_ERROR "TENON_CPU_VARIANTS: '${variant}' is none of ${all_variants}")
  endif()
endforeach()
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
