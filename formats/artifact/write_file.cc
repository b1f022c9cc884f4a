#include "formats/artifact/write.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace longwave::artifact {
namespace {

// A path or file descriptor that is given back on every way out.
struct Temporary {
    std::string path;
    int file = -1;
    ~Temporary() {
        if (file >= 0) close(file);
        if (!path.empty()) unlink(path.c_str());
    }
};

Status failed(const char *what, const std::string &path) {
    const int reason = errno;
    return Status::device(path + ": cannot " + what + ": " + strerror(reason));
}

bool write_all(int file, std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(file, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO;
        if (n <= 0) return false;
        bytes = bytes.subspan(static_cast<size_t>(n));
    }
    return true;
}

Status write_in_place(const std::string &path, std::span<const uint8_t> bytes) {
    Temporary opened;
    opened.file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (opened.file < 0) return failed("open", path);
    if (!write_all(opened.file, bytes)) return failed("write", path);
    const int closed = close(opened.file);
    opened.file = -1;
    return closed == 0 ? Status::ok() : failed("write", path);
}

} // namespace

Status write_file_atomically(const std::string &path, std::span<const uint8_t> bytes) {
    // A rename would put a file in the place of /dev/stdout or a named pipe: what is no file is written to,
    // not replaced.
    struct stat info;
    if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode))
        return Status::device(path + ": is a folder; name a file in it");
    if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) return write_in_place(path, bytes);

    const size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
    Temporary temporary;
    std::string name = path + ".XXXXXX"; // the same folder: a rename must not cross file systems
    temporary.file = mkstemp(name.data());
    if (temporary.file < 0) return failed("create a temporary file beside it", path);
    temporary.path = name;

    const mode_t mask = umask(0); // mkstemp gives 0600; an artifact is an ordinary file
    umask(mask);
    if (fchmod(temporary.file, 0666 & ~mask) != 0) return failed("set its permissions", path);
    if (!write_all(temporary.file, bytes)) return failed("write", path);
    if (fsync(temporary.file) != 0) return failed("write to the disk", path);
    const int closed = close(temporary.file);
    temporary.file = -1;
    if (closed != 0) return failed("write", path);
    if (rename(temporary.path.c_str(), path.c_str()) != 0) return failed("replace the file", path);
    temporary.path.clear(); // it is the file now

    const int directory = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0) return failed("open its folder", path);
    const int synced = fsync(directory);
    const int reason = errno;
    close(directory);
    errno = reason;
    if (synced != 0 && reason != EINVAL)
        return failed("write its folder to the disk", path); // EINVAL: a file system without folders to sync
    return {};
}

} // namespace longwave::artifact
