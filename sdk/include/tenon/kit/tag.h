// tenon/kit/tag.h - the two macros of the kit.
//
// TENON_KIT_TAG. The linker keeps one copy of an inline function, whichever object it comes from.
// In a plugin whose objects are compiled for different instruction sets that copy may hold
// instructions which the processor lacks, in code that runs before anybody has asked it. So
// everything in the kit stands in an inline namespace, and objects of one instruction set name it
// alike: their inline functions have the same symbols, and no other object's functions have.
// tenon_add_plugin names it for KERNELS and for BASELINE; objects with other options than theirs
// need a name of their own, -DTENON_KIT_TAG=avx512 for example. Types of the kit then differ from
// object to object, so that one which crosses the border of its instruction set does not link.
//
// TENON_KIT_HD marks what device code may call where the compiler is nvcc or hipcc.
#pragma once

#ifndef TENON_KIT_TAG
#define TENON_KIT_TAG one_instruction_set
#endif

#if defined(__CUDACC__) || defined(__HIPCC__)
#define TENON_KIT_HD __host__ __device__
#else
#define TENON_KIT_HD
#endif
