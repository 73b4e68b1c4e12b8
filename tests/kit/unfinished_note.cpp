// Must not compile: a note without an id, or with a family that is too long.

#include "tenon/note.hpp"

#ifdef COMPLETE
constexpr tenon_note_desc kNote =
    tenon::Note().family("acme").variant("a1").id("com.acme.a1").version("1.0.0");
#elif defined(TOO_LONG)
constexpr tenon_note_desc kNote = tenon::Note()
                                      .family("a family of more than thirty-one letters")
                                      .variant("a1")
                                      .id("com.acme.a1")
                                      .version("1.0.0");
#else
constexpr tenon_note_desc kNote = tenon::Note().family("acme").variant("a1").version("1.0.0");
#endif

static_assert(kNote.rank == 10);
