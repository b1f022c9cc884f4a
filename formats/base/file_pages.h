// A file that is mapped and read in pieces, with a bound on the memory that this takes.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <sys/mman.h>

namespace longwave {

// The file must not become shorter while it is mapped.
class FilePages {
public:
    // The first `size` bytes of an open file; the descriptor may be closed afterwards. Null: the
    // system cannot map it, and errno says why.
    static std::shared_ptr<const FilePages> map(int descriptor, size_t size) {
        void *const at = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
        if (at == MAP_FAILED) return nullptr;
        return std::shared_ptr<const FilePages>(new FilePages(static_cast<const uint8_t *>(at), size));
    }
    ~FilePages() { munmap(const_cast<uint8_t *>(bytes_), size_); }
    FilePages(const FilePages &) = delete;
    FilePages &operator=(const FilePages &) = delete;

    const uint8_t *data() const { return bytes_; }
    size_t size() const { return size_; }

    // Call it after reading so many bytes. A page that was read counts as memory of this process.
    // After `most` bytes all pages are let go; whoever reads them again gets them from the file.
    // Any thread may call it while others read.
    void was_read(size_t bytes) const {
        if (read_.fetch_add(bytes) + bytes < most) return;
        read_.store(0);
        madvise(const_cast<uint8_t *>(bytes_), size_, MADV_DONTNEED);
    }

private:
    static constexpr size_t most = size_t{32} << 20;
    FilePages(const uint8_t *bytes, size_t size) : bytes_(bytes), size_(size) {}

    const uint8_t *bytes_;
    size_t size_;
    mutable std::atomic<size_t> read_ = 0;
};

} // namespace longwave
