// The SIMD words for AVX-512.
#pragma once

#include "plugins/cpu/simd/avx512_words.h"

#include "plugins/cpu/simd/bf16_pairs.h"
#include "plugins/cpu/simd/row_pairs.h"
