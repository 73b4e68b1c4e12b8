// Whether a plugin file may be opened at all: its kind, owner, mode, and the directories above it.
#pragma once

#include <sys/types.h>

#include <string>

#include "loader/candidate.h"

namespace tenon {

// Who we are, for the checks. Tests make their own.
struct TrustContext {
    uid_t user = 0;            // effective
    uid_t library_owner = 0;   // of the file this library was loaded from
    std::string library_path;  // canonical; directories above it are exempt, see exempt()
    uid_t unmapped_owner =
        65534;  // whom the system shows for all that this namespace has no number for
    bool elevated = false;
    bool allow_unsafe = false;  // TENON_ALLOW_UNSAFE_PLUGINS; ignored when elevated
};
TrustContext process_trust_context();

struct TrustedFile {
    std::string path;  // links resolved
    FileIdentity identity;
    std::string detail;   // "root 0644, directories ok"
    std::string warning;  // what allow_unsafe let pass, or ""
};

// Resolves `found` once and checks file and directories. The file is not read.
Check check_file(const std::string& found, TrustPlace place, const TrustContext& context,
                 TrustedFile* out);

// The identity of the file at `path` now; false when there is none.
bool identify(const std::string& path, FileIdentity* out);

}  // namespace tenon
