/* What a C compiler makes of tenon/codebooks.h and tenon/types.h. */
#include "tests/abi/codebooks.h"

#include "tenon/types.h"

const struct codebooks* codebooks_of_c(void) { return &kCodebooks; }
const tenon_type* types_of_c(void) { return tenon_types; }
