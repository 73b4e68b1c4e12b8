# cmake -DINCLUDE=<sdk/include> -DOUTPUT=<file.comp> [-DGLSLANG=<glslangValidator>] -P codebooks_glsl.cmake
#
# Reads tenon/codebooks.h and tenon/types.h as a generator of shaders would, without a C compiler:
# every table becomes a GLSL array, every type two constants. Compiles the result where glslang is.

# Names and numbers of elements that formats have; a table that is missing or shorter is an error.
set(expected
  TENON_IQ4_LEVELS=16 TENON_E2M1_TWICE=16 TENON_IQ2_LEVELS=3 TENON_IQ3_XXS_LEVELS=8
  TENON_IQ3_S_LEVELS=8 TENON_IQ1_LEVELS=3 TENON_IQ_EVEN_SIGNS=128 TENON_IQ2_XXS_POINTS=256
  TENON_IQ2_XS_POINTS=512 TENON_IQ2_S_POINTS=1024 TENON_IQ3_XXS_POINTS=256 TENON_IQ3_S_POINTS=512
  TENON_IQ1_POINTS=2048)

# One definition per line, without comments.
function(read_definitions header result)
  file(READ ${INCLUDE}/${header} text)
  string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" text "${text}")
  string(REGEX REPLACE "\\\\\n" " " text "${text}")
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

set(shader "#version 450\nlayout(local_size_x = 1) in;\nlayout(binding = 0) buffer Sums { int sums[]; };\n")
set(main "void main() {\n")

read_definitions(tenon/codebooks.h text)
set(found)
string(REGEX MATCHALL "#define TENON_[A-Z0-9_]+ +-?[0-9x, a-f-]+\n" definitions "${text}")
foreach(definition ${definitions})
  string(REGEX MATCH "#define (TENON_[A-Z0-9_]+) +([^\n]+)\n" _ "${definition}")
  set(name ${CMAKE_MATCH_1})
  string(REGEX MATCHALL "-?(0x[0-9a-f]+|[0-9]+)" numbers "${CMAKE_MATCH_2}")
  list(LENGTH numbers n)
  list(APPEND found ${name}=${n})
  list(JOIN numbers ", " list)
  string(APPEND shader "const int ${name}[${n}] = int[${n}](${list});\n")
  string(APPEND main "    for (int i = 0; i < ${n}; ++i) sums[i] += ${name}[i];\n")
endforeach()
if(NOT found STREQUAL expected)
  message(FATAL_ERROR "tenon/codebooks.h has the tables\n${found}\nexpected\n${expected}")
endif()

read_definitions(tenon/types.h text)
string(REGEX MATCHALL " TYPE\\( *[0-9]+, *[A-Z0-9_]+, *\"[a-zA-Z0-9_]+\", *[0-9]+, *[0-9]+, *[01]\\)" types "${text}")
list(LENGTH types n)
if(NOT n EQUAL 35)
  message(FATAL_ERROR "tenon/types.h: ${n} types were read, expected 35")
endif()
foreach(type ${types})
  string(REGEX MATCH "TYPE\\( *([0-9]+), *([A-Z0-9_]+), *\"[a-zA-Z0-9_]+\", *([0-9]+), *([0-9]+)" _ "${type}")
  set(id ${CMAKE_MATCH_2})
  string(APPEND shader "const uint BLOCK_${id} = ${CMAKE_MATCH_3}u, BYTES_${id} = ${CMAKE_MATCH_4}u;\n")
  set(${id} ${CMAKE_MATCH_1}/${CMAKE_MATCH_3}/${CMAKE_MATCH_4})
endforeach()
if(NOT "${F32} ${Q4_K} ${NVFP4}" STREQUAL "0/1/4 12/256/144 40/64/36")
  message(FATAL_ERROR "tenon/types.h: f32, q4_K, nvfp4 were read as ${F32} ${Q4_K} ${NVFP4}")
endif()

file(WRITE ${OUTPUT} "${shader}${main}}\n")
if(GLSLANG)
  execute_process(COMMAND ${GLSLANG} -V --quiet ${OUTPUT} -o ${OUTPUT}.spv COMMAND_ERROR_IS_FATAL ANY)
endif()
