// The SIMD words for NEON with the dot product instructions of Armv8.2.
#pragma once

#include "plugins/cpu/simd/neon_dotprod_words.h"

#include "plugins/cpu/simd/bf16_pairs.h"
#include "plugins/cpu/simd/row_pairs.h"
