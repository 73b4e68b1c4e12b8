/* The tables of tenon/codebooks.h as a C and a C++ compiler read them: included by both. */
#ifndef TENON_TESTS_ABI_CODEBOOKS_H
#define TENON_TESTS_ABI_CODEBOOKS_H

#include <stddef.h>
#include <stdint.h>

#include "tenon/codebooks.h"

struct table {
    const int32_t* numbers;
    size_t n;
};

struct codebooks {
    struct table iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s, iq1;
    struct table iq2_levels, iq3_xxs_levels, iq3_s_levels, iq1_levels;
    struct table iq4_levels, e2m1_twice, even_signs;
};

#define NUMBERS(name, ...) static const int32_t name[] = {__VA_ARGS__}
#define TABLE(name) \
    { name, sizeof name / sizeof name[0] }

NUMBERS(iq2_xxs, TENON_IQ2_XXS_POINTS);
NUMBERS(iq2_xs, TENON_IQ2_XS_POINTS);
NUMBERS(iq2_s, TENON_IQ2_S_POINTS);
NUMBERS(iq3_xxs, TENON_IQ3_XXS_POINTS);
NUMBERS(iq3_s, TENON_IQ3_S_POINTS);
NUMBERS(iq1, TENON_IQ1_POINTS);
NUMBERS(iq2_levels, TENON_IQ2_LEVELS);
NUMBERS(iq3_xxs_levels, TENON_IQ3_XXS_LEVELS);
NUMBERS(iq3_s_levels, TENON_IQ3_S_LEVELS);
NUMBERS(iq1_levels, TENON_IQ1_LEVELS);
NUMBERS(iq4_levels, TENON_IQ4_LEVELS);
NUMBERS(e2m1_twice, TENON_E2M1_TWICE);
NUMBERS(even_signs, TENON_IQ_EVEN_SIGNS);

static const struct codebooks kCodebooks = {
    TABLE(iq2_xxs),      TABLE(iq2_xs),     TABLE(iq2_s),      TABLE(iq3_xxs),
    TABLE(iq3_s),        TABLE(iq1),        TABLE(iq2_levels), TABLE(iq3_xxs_levels),
    TABLE(iq3_s_levels), TABLE(iq1_levels), TABLE(iq4_levels), TABLE(e2m1_twice),
    TABLE(even_signs)};

#undef NUMBERS
#undef TABLE

#endif /* TENON_TESTS_ABI_CODEBOOKS_H */
