// forced_unwind.hpp - catching everything but the end of a thread.
//
// A thread that is cancelled, or calls pthread_exit(), unwinds its stack. With libstdc++ that
// passes through `catch (...)`, and whoever does not throw it on ends the whole process. It also
// must not meet a function that is noexcept.
#pragma once

#include <exception>
#include <new>

#if defined(__GLIBCXX__)
#include <cxxabi.h>
#endif

namespace tenon {

#if defined(__GLIBCXX__)
using ForcedUnwind = abi::__forced_unwind;
#else
struct ForcedUnwind {};  // elsewhere `catch (...)` does not see it: nobody throws this
#endif

// What body() gives, or where it throws what caught(out_of_memory, text) gives; `text` is NULL for
// what is no std::exception. The end of the thread passes through.
template <class Body, class Caught>
auto catch_all(Body&& body, Caught&& caught) -> decltype(body()) {
    try {
        return body();
    } catch (const std::bad_alloc& e) {
        return caught(true, e.what());
    } catch (const std::exception& e) {
        return caught(false, e.what());
    } catch (const ForcedUnwind&) {
        throw;
    } catch (...) {
        return caught(false, static_cast<const char*>(nullptr));
    }
}

}  // namespace tenon
