// Whether the tests run on an emulated processor, which is so wherever the build is a cross build.
#pragma once

namespace tenon::test {

// qemu-user cannot execute a program of its guest, nor start threads in a forked child.
constexpr bool kEmulated = TENON_EMULATED;

}  // namespace tenon::test
