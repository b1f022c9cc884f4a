#include "formats/package/file_bytes.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace longwave::package {
namespace {

Status refused(const std::string &path, int error) {
    return Status::input(path + ": cannot be read: " + std::strerror(error));
}

} // namespace

InputFile::InputFile(std::string path, int descriptor, uint64_t size)
    : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

InputFile::InputFile(InputFile &&other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

InputFile::~InputFile() {
    if (descriptor_ >= 0) close(descriptor_);
}

Expected<InputFile> InputFile::open(const std::string &path, uint64_t limit) {
    // A pipe must not make us wait.
    InputFile file(path, ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK), 0);
    if (file.descriptor_ < 0) return refused(path, errno);
    struct stat info;
    if (fstat(file.descriptor_, &info) != 0) return refused(path, errno);
    if (S_ISDIR(info.st_mode)) return refused(path, EISDIR);
    if (!S_ISREG(info.st_mode)) return Status::input(path + ": cannot be read: not a regular file");
    file.size_ = static_cast<uint64_t>(info.st_size);
    if (file.size_ <= limit) return file;
    return Status::input(path + ": expected at most " + std::to_string(limit) + " bytes, found " +
                         std::to_string(file.size_));
}

Status InputFile::read(uint64_t offset, std::span<uint8_t> to) const {
    for (size_t done = 0; done < to.size();) {
        const auto n =
            pread(descriptor_, to.data() + done, to.size() - done, static_cast<off_t>(offset + done));
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return refused(path_, errno);
        if (n == 0)
            return Status::input(path_ + ": became shorter while it was read: expected " +
                                 std::to_string(size_) + " bytes, found " + std::to_string(offset + done));
        done += static_cast<size_t>(n);
    }
    return Status::ok();
}

Expected<std::shared_ptr<const FilePages>> InputFile::map() const {
    auto pages = FilePages::map(descriptor_, size_);
    if (!pages) return refused(path_, errno);
    return pages;
}

Expected<std::vector<uint8_t>> read_file(const std::string &path, uint64_t limit) {
    LW_ASSIGN(const InputFile file, InputFile::open(path, limit));
    std::vector<uint8_t> bytes(file.size());
    LW_TRY(file.read(0, bytes));
    return bytes;
}

} // namespace longwave::package
