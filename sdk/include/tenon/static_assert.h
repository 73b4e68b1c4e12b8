/* tenon/static_assert.h - one word for C11, C++ and CUDA. */
#ifndef TENON_STATIC_ASSERT

#ifdef __cplusplus
#define TENON_STATIC_ASSERT(condition, text) static_assert(condition, text)
#else
#define TENON_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

#endif /* TENON_STATIC_ASSERT */
