// Reads a regular file: whole, or piece by piece.
#pragma once
#include "formats/base/expected.h"
#include "formats/base/file_pages.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace longwave::package {

// Every failure is Fault::input with the path and the system's words.
class InputFile {
public:
    // Refused: missing, not permitted, a folder or device, longer than `limit` bytes.
    static Expected<InputFile> open(const std::string &path, uint64_t limit);
    InputFile(InputFile &&other) noexcept;
    ~InputFile();

    uint64_t size() const { return size_; } // when it was opened
    // Refused: bytes beyond the end, also where the file became shorter since.
    Status read(uint64_t offset, std::span<uint8_t> to) const;
    // The whole file. From then on it must not become shorter: whoever reads beyond its end dies.
    Expected<std::shared_ptr<const FilePages>> map() const;

private:
    InputFile(std::string path, int descriptor, uint64_t size);
    std::string path_;
    int descriptor_;
    uint64_t size_;
};

Expected<std::vector<uint8_t>> read_file(const std::string &path, uint64_t limit);

} // namespace longwave::package
