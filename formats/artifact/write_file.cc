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

using Spans = std::span<const std::span<const uint8_t>>;

bool write_all(int file, Spans spans) {
    for (std::span<const uint8_t> bytes : spans)
        while (!bytes.empty()) {
            const ssize_t n = ::write(file, bytes.data(), bytes.size());
            if (n < 0 && errno == EINTR) continue;
            if (n == 0) errno = EIO;
            if (n <= 0) return false;
            bytes = bytes.subspan(static_cast<size_t>(n));
        }
    return true;
}

Status write_in_place(const std::string &path, Spans spans) {
    Temporary opened;
    opened.file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (opened.file < 0) return failed("open", path);
    if (!write_all(opened.file, spans)) return failed("write", path);
    const int closed = close(opened.file);
    opened.file = -1;
    return closed == 0 ? Status::ok() : failed("write", path);
}

std::string folder_of(const std::string &path) {
    const size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

// What a path means in the end: a rename would put a file in the place of a link. As many links as the system
// follows.
std::string behind_links(std::string path) {
    for (int i = 0; i < 40; ++i) {
        char target[4096];
        const ssize_t n = readlink(path.c_str(), target, sizeof target);
        if (n <= 0 || static_cast<size_t>(n) == sizeof target) break;
        std::string next(target, static_cast<size_t>(n));
        path = next[0] == '/' ? next : folder_of(path) + "/" + next;
    }
    return path;
}

Status write_spans(const std::string &path, Spans spans) {
    // A rename would put a file in the place of /dev/stdout or a named pipe: what is no file is written to,
    // not replaced.
    struct stat info;
    const bool there = stat(path.c_str(), &info) == 0;
    if (!there && errno == ELOOP) return failed("follow its links", path);
    if (there && S_ISDIR(info.st_mode)) return Status::device(path + ": is a folder; name a file in it");
    if (there && !S_ISREG(info.st_mode)) return write_in_place(path, spans);

    const std::string place = behind_links(path), folder = folder_of(place);
    Temporary temporary;
    std::string name = place + ".XXXXXX"; // the same folder: a rename must not cross file systems
    temporary.file = mkstemp(name.data());
    if (temporary.file < 0) return failed("create a temporary file beside it", path);
    temporary.path = name;

    const mode_t mask = umask(0); // mkstemp gives 0600; an artifact is an ordinary file
    umask(mask);
    if (fchmod(temporary.file, 0666 & ~mask) != 0) return failed("set its permissions", path);
    if (!write_all(temporary.file, spans)) return failed("write", path);
    if (fsync(temporary.file) != 0) return failed("write to the disk", path);
    const int closed = close(temporary.file);
    temporary.file = -1;
    if (closed != 0) return failed("write", path);
    if (rename(temporary.path.c_str(), place.c_str()) != 0) return failed("replace the file", path);
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

} // namespace

Status write_file_atomically(const std::string &path, std::span<const uint8_t> bytes) {
    return write_spans(path, {&bytes, 1});
}

Status write_pieces_atomically(const std::string &path, const Pieces &pieces) {
    return write_spans(path, pieces.spans());
}

} // namespace longwave::artifact
