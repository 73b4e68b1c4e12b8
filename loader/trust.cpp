// Whether a plugin file may be opened at all: its kind, owner, mode, and the directories above it.

#include "loader/trust.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/base/os.h"
#include "core/base/settings.h"
#include "core/base/text.h"

namespace tenon {
namespace {

std::string owner_text(uid_t uid) { return uid == 0 ? "root" : text("uid %u", uid); }

FileIdentity identity_of(const struct stat& st) {
    return {st.st_dev, st.st_ino, st.st_size, st.st_mtim};
}

std::string resolve(const std::string& path) {
    const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
    return real ? real.get() : "";
}

// The write bits nobody but the owner may have; 0 when there are none. A sticky directory may be
// written by others: they cannot replace what is not theirs.
mode_t foreign_write_bits(const struct stat& st) {
    if (S_ISDIR(st.st_mode) && (st.st_mode & S_ISVTX)) return 0;
    return st.st_mode & (S_IWGRP | S_IWOTH);
}

std::string writable_text(const char* what, const std::string& path, const struct stat& st) {
    const mode_t bits = foreign_write_bits(st);
    const char* who = bits == (S_IWGRP | S_IWOTH) ? "group and others"
                      : (bits & S_IWOTH)          ? "others"
                                                  : "group";
    const char* fix = bits == (S_IWGRP | S_IWOTH) ? "go-w" : (bits & S_IWOTH) ? "o-w" : "g-w";
    return text("%swritable by %s (mode %04o); chmod %s %s", what, who, st.st_mode & 07777u, fix,
                path.c_str());
}

// Whether the directory that holds the library is above the path.
bool is_below_library(const std::string& path, const TrustContext& context) {
    const size_t slash = context.library_path.rfind('/');
    return slash != std::string::npos && path.size() > slash &&
           path.compare(0, slash + 1, context.library_path, 0, slash + 1) == 0;
}

// Who owns the library can replace it, and so may own plugins. In a user namespace all owners that
// are not mapped look alike: one of them is the library's only where no other could have put
// anything, below the library and in places named by whoever installed it.
bool may_own(uid_t owner, const std::string& path, TrustPlace place, const TrustContext& context,
             bool anywhere) {
    if (owner == 0) return true;
    if (place.root_only) return false;
    if (owner == context.user) return true;
    if (owner != context.library_owner) return false;
    return (anywhere && owner != context.unmapped_owner) || place.vouched ||
           is_below_library(path, context);
}

const char* other_owners(TrustPlace place) {
    return place.root_only ? "" : " or the user of this process";
}

Check check_owner_and_mode(const std::string& path, const struct stat& st, TrustPlace place,
                           const TrustContext& context) {
    if (!may_own(st.st_uid, path, place, context, /*anywhere=*/true)) {
        return Refusal{"unsafe-owner", text("owned by %s, not by root%s",
                                            owner_text(st.st_uid).c_str(), other_owners(place))};
    }
    if (foreign_write_bits(st)) return Refusal{"unsafe-mode", writable_text("", path, st)};
    return {};
}

// Whoever can write to a directory above the library can replace the library itself.
bool exempt(const std::string& directory, const TrustContext& context) {
    if (context.elevated) return false;
    return directory == "/" ||
           context.library_path.compare(0, directory.size() + 1, directory + "/") == 0;
}

Check check_directory(const std::string& directory, TrustPlace place, const TrustContext& context) {
    if (exempt(directory, context)) return {};
    struct stat st;
    if (::stat(directory.c_str(), &st) != 0) {
        return Refusal{"unreadable", text("%s: %s", directory.c_str(), std::strerror(errno))};
    }
    if (!may_own(st.st_uid, directory, place, context, /*anywhere=*/false)) {
        return Refusal{"unsafe-dir",
                       text("directory %s is owned by %s, not by root%s", directory.c_str(),
                            owner_text(st.st_uid).c_str(), other_owners(place))};
    }
    if (foreign_write_bits(st)) {
        const std::string what = "directory " + directory + " is ";
        return Refusal{"unsafe-dir", writable_text(what.c_str(), directory, st)};
    }
    return {};
}

// Every directory from / down to the file's own.
Check check_directories(const std::string& path, TrustPlace place, const TrustContext& context) {
    for (size_t slash = 0; slash != std::string::npos; slash = path.find('/', slash + 1)) {
        const std::string directory = slash == 0 ? "/" : path.substr(0, slash);
        if (Check no = check_directory(directory, place, context)) return no;
    }
    return {};
}

}  // namespace

TrustContext process_trust_context() {
    TrustContext context;
    context.unmapped_owner = os::unmapped_owner();
    context.user = ::geteuid();
    context.library_owner = context.user;
    context.library_path = os::library_path();
    context.elevated = os::elevated();
    context.allow_unsafe = !context.elevated && setting_on("allow_unsafe_plugins");
    struct stat st;
    if (!context.library_path.empty() && ::stat(context.library_path.c_str(), &st) == 0) {
        context.library_owner = st.st_uid;
    }
    return context;
}

Check check_file(const std::string& found, TrustPlace place, const TrustContext& context,
                 TrustedFile* out) {
    if (context.elevated && (found.empty() || found[0] != '/')) {
        return Refusal{"unsafe-dir", "relative path under elevated privileges"};
    }
    out->path = resolve(found);
    struct stat st;
    if (out->path.empty() || ::stat(out->path.c_str(), &st) != 0) {
        return Refusal{"unreadable", std::strerror(errno)};
    }
    if (!S_ISREG(st.st_mode)) {
        const char* kind = S_ISDIR(st.st_mode)    ? "directory"
                           : S_ISFIFO(st.st_mode) ? "fifo"
                           : S_ISSOCK(st.st_mode) ? "socket"
                                                  : "device";
        return Refusal{"not-regular", text("a %s, not a regular file", kind)};
    }
    if (::faccessat(AT_FDCWD, out->path.c_str(), R_OK, AT_EACCESS) != 0)
        return Refusal{"unreadable", std::strerror(errno)};
    out->identity = identity_of(st);

    place.root_only = place.root_only || context.elevated;
    Check unsafe = check_owner_and_mode(out->path, st, place, context);
    if (!unsafe) unsafe = check_directories(out->path, place, context);
    if (unsafe && (!context.allow_unsafe || unsafe->word == std::string("unreadable")))
        return unsafe;
    if (unsafe) out->warning = std::string(unsafe->word) + ": " + unsafe->text;
    out->detail = text("%s %04o%s", owner_text(st.st_uid).c_str(), st.st_mode & 07777u,
                       unsafe ? ", allowed by TENON_ALLOW_UNSAFE_PLUGINS" : ", directories safe");
    return {};
}

bool identify(const std::string& path, FileIdentity* out) {
    struct stat st;
    if (::stat(path.c_str(), &st) != 0) return false;
    *out = identity_of(st);
    return true;
}

}  // namespace tenon
