// A shared object in the process: opened, asked for symbols, closed.

#define BOOST_DLL_USE_STD_FS

#include "loader/library.h"

#include <dlfcn.h>
#include <link.h>

#include <boost/dll/shared_library.hpp>
#include <system_error>

namespace tenon {

Library::Library() = default;
Library::Library(Library&& other) noexcept = default;
Library& Library::operator=(Library&& other) noexcept = default;
Library::~Library() = default;

Result<Library> Library::open(const std::string& path) {
    Library library;
    library.handle_ = std::make_unique<boost::dll::shared_library>();
    try {
        // Only the throwing overload carries the dynamic linker's text.
        library.handle_->load(path, boost::dll::load_mode::rtld_now);
    } catch (const std::system_error& e) {
        // "… failed (dlerror system message: TEXT): Bad file descriptor"
        std::string text = e.what();
        constexpr const char kBefore[] = "dlerror system message: ";
        if (const size_t at = text.find(kBefore); at != std::string::npos) {
            text.erase(0, at + sizeof kBefore - 1);
            if (const size_t end = text.rfind("): "); end != std::string::npos) text.erase(end);
        }
        return fail(TENON_E_IO, "%s", text.c_str());
    }
    return library;
}

bool Library::pin(const std::string& path) {
    // The second handle is never closed; NOLOAD makes sure that it is the same file.
    return ::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE) != nullptr;
}

void* Library::symbol(const char* name) const {
    return handle_ ? ::dlsym(handle_->native(), name) : nullptr;
}

std::string Library::loaded_path() const {
    link_map* map = nullptr;
    if (!handle_ || ::dlinfo(handle_->native(), RTLD_DI_LINKMAP, &map) != 0 || !map) return {};
    return map->l_name ? map->l_name : "";
}

void Library::close() { handle_.reset(); }

}  // namespace tenon
