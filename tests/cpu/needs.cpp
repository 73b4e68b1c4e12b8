// Ends the program with the code for "skipped" before any code of the variant runs, if the
// processor lacks it: even the initialisers of the tests may use its instructions.

#include <unistd.h>

#include "plugins/cpu/plugin.h"

namespace {

[[gnu::constructor(101)]] void skip_if_unfit() {
    if (tenon::cpu::score(nullptr, nullptr) != 0) return;
    static const char kText[] = "skipped: this processor lacks the variant\n";
    if (write(1, kText, sizeof kText - 1) > 0) _exit(77);
    _exit(77);
}

}  // namespace
