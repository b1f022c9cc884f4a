#include "formats/artifact/write.h"
#include <cerrno>
#include <climits>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace longwave::artifact {
namespace {

constexpr const char *prefix = ".longwave-new-"; // of temporary files
constexpr size_t random_letters = 6;
constexpr time_t forgotten = 3600; // seconds after which nobody writes a temporary file any more

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

// In a folder that everybody may write to, a link of somebody else may lead to a file of ours. The
// system refuses to follow it there, and so must whoever reads it himself.
bool trusted(const std::string &link, const struct stat &info) {
    struct stat folder;
    if (stat(folder_of(link).c_str(), &folder) != 0) return false;
    const bool shared = (folder.st_mode & S_ISVTX) && (folder.st_mode & S_IWOTH);
    return !shared || info.st_uid == geteuid() || info.st_uid == folder.st_uid;
}

// Where a chain of links ends, there or not yet there. A failure leaves its reason in errno.
bool follow_links(std::string &path) {
    constexpr int most = 40; // as the system
    for (int links = 0; links < most; links++) {
        struct stat info;
        if (lstat(path.c_str(), &info) != 0) return errno == ENOENT;
        if (!S_ISLNK(info.st_mode)) return true;
        if (!trusted(path, info)) {
            errno = EACCES;
            return false;
        }
        char target[PATH_MAX];
        const ssize_t size = readlink(path.c_str(), target, sizeof target);
        if (size < 0) return false;
        const std::string next(target, static_cast<size_t>(size));
        path = next.starts_with('/') ? next : folder_of(path).append("/").append(next);
    }
    errno = ELOOP;
    return false;
}

// Temporary files of programs that were killed while they wrote.
void remove_forgotten(const std::string &folder) {
    DIR *const list = opendir(folder.c_str());
    if (!list) return;
    while (const dirent *entry = readdir(list)) {
        const std::string_view name = entry->d_name;
        struct stat info;
        if (name.starts_with(prefix) && name.size() == strlen(prefix) + random_letters &&
            fstatat(dirfd(list), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode) &&
            info.st_uid == geteuid() && info.st_mtime + forgotten < time(nullptr))
            unlinkat(dirfd(list), entry->d_name, 0);
    }
    closedir(list);
}

// Writes a temporary file beside the file. `write`: hands out the bytes; false: errno says why.
template <class Write> Status stage(const std::string &path, std::string &staged, const Write &write) {
    Temporary temporary;
    const std::string folder = folder_of(path); // the same: a rename must not cross file systems
    remove_forgotten(folder);
    std::string name = folder + "/" + prefix + std::string(random_letters, 'X');
    temporary.file = mkostemp(name.data(), O_CLOEXEC);
    if (temporary.file < 0) return failed("create a temporary file beside it", path);
    temporary.path.swap(name); // takes no memory: it is removed whatever fails from here on

    const mode_t mask = umask(0); // mkostemp gives 0600; an artifact is an ordinary file
    umask(mask);
    if (fchmod(temporary.file, 0666 & ~mask) != 0) return failed("set its permissions", path);
    if (!write(temporary.file)) return failed("write", path);
    if (fsync(temporary.file) != 0) return failed("write to the disk", path);
    const int closed = close(temporary.file);
    temporary.file = -1;
    if (closed != 0) return failed("write", path);
    staged.swap(temporary.path);
    return {};
}

Status sync_folder(const std::string &path) {
    const int folder = open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return failed("open its folder", path);
    const int synced = fsync(folder);
    const int reason = errno;
    close(folder);
    errno = reason;
    if (synced != 0 && reason != EINVAL)
        return failed("write its folder to the disk", path); // EINVAL: a file system without folders to sync
    return {};
}

// Puts a staged file in its place: the old file or the whole new one.
Status put(std::string &staged, const std::string &file) {
    if (rename(staged.c_str(), file.c_str()) != 0) return failed("replace the file", file);
    staged.clear(); // it is the file now
    return sync_folder(file);
}

// Where a file is written in the place of `path`. A rename would put a file in the place of
// /dev/stdout or a named pipe: `in_place` says that it is one, which is written to, not replaced.
// Nor does it replace a link: what the link stands for is meant.
Expected<std::string> file_for(const std::string &path, bool *in_place) {
    struct stat info;
    const bool there = stat(path.c_str(), &info) == 0;
    if (!there && errno != ENOENT && errno != ELOOP) return failed("look at", path); // may be such a one
    if (there && S_ISDIR(info.st_mode)) return Status::device(path + ": is a folder; name a file in it");
    *in_place = there && !S_ISREG(info.st_mode);
    std::string file = path;
    if (!*in_place && !follow_links(file)) return failed("follow its links", path);
    return file;
}

Status write_spans(const std::string &path, Spans spans) {
    bool in_place = false;
    LW_ASSIGN(const std::string file, file_for(path, &in_place));
    if (in_place) return write_in_place(file, spans);
    std::string staged;
    LW_TRY(stage(file, staged, [&](int to) { return write_all(to, spans); }));
    const Status done = put(staged, file);
    if (!staged.empty()) unlink(staged.c_str());
    return done;
}

} // namespace

Status write_file_atomically(const std::string &path, std::span<const uint8_t> bytes) {
    return write_spans(path, {&bytes, 1});
}

Status write_pieces_atomically(const std::string &path, const Pieces &pieces) {
    return write_spans(path, pieces.spans());
}

Status write_stream_atomically(const std::string &path,
                               const std::function<Status(int file, bool in_place)> &make) {
    bool in_place = false;
    LW_ASSIGN(const std::string file, file_for(path, &in_place));
    if (in_place) {
        Temporary opened;
        opened.file = open(file.c_str(), O_WRONLY | O_CLOEXEC);
        return opened.file < 0 ? failed("open", path) : make(opened.file, true);
    }
    std::string staged;
    Status made;
    const Status written = stage(file, staged, [&](int to) {
        made = make(to, false);
        return static_cast<bool>(made);
    });
    if (!made) return made;
    LW_TRY(written);
    const Status done = put(staged, file);
    if (!staged.empty()) unlink(staged.c_str());
    return done;
}

Expected<StagedFile> StagedFile::write(const std::string &path, Pieces pieces) {
    bool in_place = false;
    LW_ASSIGN(const std::string file, file_for(path, &in_place));
    if (in_place)
        return Status::device(
            path + ": this is not a file, so it cannot be checked before it is written; name a file");
    StagedFile made;
    made.file_ = file;
    LW_TRY(stage(file, made.staged_, [&](int to) {
        const std::span<const uint8_t> front(pieces.front);
        const auto take = [to](std::span<const uint8_t> bytes) { return write_all(to, {&bytes, 1}); };
        return take(front) && pieces.hand_over(take);
    }));
    return made;
}

StagedFile::StagedFile(StagedFile &&other) noexcept
    : staged_(std::exchange(other.staged_, {})), file_(std::move(other.file_)) {}

StagedFile::~StagedFile() {
    if (!staged_.empty()) unlink(staged_.c_str());
}

Status StagedFile::put_in_place() && { return put(staged_, file_); }

} // namespace longwave::artifact
