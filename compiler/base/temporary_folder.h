// A fresh folder in $TMPDIR (else /tmp) that is removed with everything in it. One that a killed
// program left is removed a day later by the next.
#pragma once
#include "formats/base/expected.h"
#include <filesystem>

namespace longwave::compiler {

class TemporaryFolder {
public:
    static Expected<TemporaryFolder> create();
    TemporaryFolder(TemporaryFolder &&other) noexcept;
    TemporaryFolder &operator=(TemporaryFolder &&) = delete;
    ~TemporaryFolder();
    const std::filesystem::path &path() const { return path_; }
    // Adds to a failure of writing here what to do when the disk is full.
    Status explained(Status failure) const;

private:
    explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
    std::filesystem::path path_;
};

} // namespace longwave::compiler
