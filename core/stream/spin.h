// One turn of a waiting loop: tells the processor that nothing useful happens.
#pragma once

namespace tenon {

#if defined(__x86_64__) || defined(__i386__)
inline void cpu_relax() { __builtin_ia32_pause(); }
#elif defined(__aarch64__) || defined(__arm__)
inline void cpu_relax() { asm volatile("yield" ::: "memory"); }
#else
inline void cpu_relax() { asm volatile("" ::: "memory"); }
#endif

}  // namespace tenon
