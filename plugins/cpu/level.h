// The namespace of everything that is built once per level: the SIMD words and the dot products
// over them. A level is the variant's source once more with instructions that not every processor
// of the variant has (dot/levels.h). In namespaces apart, no inline function of a level can take
// the place of one that runs everywhere. For the rest of the variant the namespace is inline and
// need not be named. Types that cross from a level to the rest stand outside of it and have no
// functions.
#pragma once

#ifndef TENON_CPU_LEVEL
#define TENON_CPU_LEVEL variant
#endif
