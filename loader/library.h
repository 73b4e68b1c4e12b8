// A shared object in the process: opened, asked for symbols, closed. Boost.DLL does the work; plain
// dlopen only for what it cannot express.
#pragma once

#include <memory>
#include <string>

#include "core/base/result.h"

namespace boost::dll {
class shared_library;
}

namespace tenon {

// Move-only. Destroying it closes the file, which unmaps it unless it was pinned.
class Library {
public:
    // Runs the initialisers of the file. The error's text is the dynamic linker's.
    static Result<Library> open(const std::string& path);

    Library();
    Library(Library&& other) noexcept;
    Library& operator=(Library&& other) noexcept;
    ~Library();

    bool is_open() const { return handle_ != nullptr; }
    // Keeps the file mapped until the process ends, whatever happens to this object.
    bool pin(const std::string& path);
    void* symbol(const char* name) const;  // NULL when there is none
    std::string loaded_path() const;       // as the dynamic linker knows the file
    void close();

private:
    std::unique_ptr<boost::dll::shared_library> handle_;
};

}  // namespace tenon
