// A compiled artifact that is not yet in its place, because it is still to be checked.
#pragma once
#include "formats/artifact/write.h"
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"
#include "tools/cli/process/interruption.h"
#include <optional>
#include <string>
#include <vector>

namespace longwave::cli {

// A large one waits in a file beside its place, where it is mapped for the check: memory holds its
// weights once. It goes when it is not written, also by a signal. A small one waits in memory.
class UnwrittenArtifact {
public:
    // `bytes_needed`: it stays in memory, whatever its size.
    static Expected<UnwrittenArtifact> of(artifact::Pieces pieces, const std::string &path,
                                          bool bytes_needed);
    UnwrittenArtifact(UnwrittenArtifact &&) = default;
    UnwrittenArtifact &operator=(UnwrittenArtifact &&) = delete;
    ~UnwrittenArtifact();

    uint64_t size() const { return size_; }
    // `remote`: opens it there, in place of this process; null: here.
    Expected<Model> open(const std::string &variant, std::shared_ptr<Remote> remote = nullptr) const;
    // The bytes of one that stays in memory.
    std::vector<uint8_t> &bytes() { return bytes_; }
    Status write() &&; // to the path; "-" is the standard output

private:
    UnwrittenArtifact() = default;
    std::string path_;
    uint64_t size_ = 0;
    std::vector<uint8_t> bytes_;
    std::optional<artifact::StagedFile> file_;
    std::unique_ptr<const Interruptible> leaves_no_file_;
};

} // namespace longwave::cli
