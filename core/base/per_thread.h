// Variables of a thread: plain types only, since a constructor or destructor registers itself at
// the thread's first use, where the C library ends the process if it has no memory.
#pragma once

#include <cstdlib>

// The memory itself is there from the start of the thread. Otherwise glibc takes it at the first
// use where the library was opened by a running program, and ends the process likewise. The price:
// they must fit into what the dynamic linker keeps for libraries opened later, 1.5 KiB for all of
// them.
#if defined(__GLIBC__)
#define TENON_PER_THREAD [[gnu::tls_model("initial-exec")]] constinit thread_local
#else
#define TENON_PER_THREAD constinit thread_local
#endif
