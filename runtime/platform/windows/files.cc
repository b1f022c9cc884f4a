#include "runtime/platform/files.h"
#include "runtime/platform/windows/names.h"
#include <errno.h>

namespace longwave::platform {
namespace {

// Windows keeps the numbers of handles in 32 bits, so that programs of both word sizes share them.
HANDLE handle(int file) { return LongToHandle(file); }

int last_error() {
    switch (GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME: // a character that no name has
    case ERROR_INVALID_DRIVE:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME: return ENOENT;
    case ERROR_ACCESS_DENIED: return EACCES;
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION: return EBUSY;
    case ERROR_TOO_MANY_OPEN_FILES: return EMFILE;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
    case ERROR_NO_SYSTEM_RESOURCES: return ENOMEM;
    case ERROR_FILENAME_EXCED_RANGE: return ENAMETOOLONG;
    case ERROR_NO_UNICODE_TRANSLATION: return EILSEQ;
    case ERROR_FILE_INVALID: return EINVAL; // mapping an empty file
    default: return EIO;
    }
}

} // namespace

File::~File() {
    if (file_ != -1) CloseHandle(handle(file_));
}

bool File::open_with(const char *path, int flags) {
    const WidePath wide(path);
    HANDLE opened = INVALID_HANDLE_VALUE;
    // A pipe's owner learns nothing of this user, and may not act as this user.
    if (wide.text())
        opened = CreateFileW(wide.text(), GENERIC_READ,
                             FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr, OPEN_EXISTING,
                             static_cast<DWORD>(flags) | SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS, nullptr);
    if (opened == INVALID_HANDLE_VALUE) {
        error_ = last_error();
        return false;
    }
    file_ = HandleToLong(opened);
    return true;
}

bool File::open_any(const char *path) { return open_with(path, FILE_ATTRIBUTE_NORMAL); }

bool File::open(const char *path) {
    if (!open_with(path, FILE_FLAG_BACKUP_SEMANTICS)) return false; // opens folders too, to tell them apart
    BY_HANDLE_FILE_INFORMATION info;
    if (GetFileType(handle(file_)) != FILE_TYPE_DISK) {
        error_ = EINVAL;
        irregular_ = true;
        return false;
    }
    if (!GetFileInformationByHandle(handle(file_), &info)) {
        error_ = last_error();
        return false;
    }
    if (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) {
        error_ = EISDIR;
        irregular_ = true;
        return false;
    }
    size_ = uint64_t{info.nFileSizeHigh} << 32 | info.nFileSizeLow;
    return true;
}

int64_t File::read_some(void *to, uint64_t bytes) {
    DWORD n = 0;
    if (ReadFile(handle(file_), to, static_cast<DWORD>(bytes < (1u << 30) ? bytes : (1u << 30)), &n, nullptr))
        return n;
    if (GetLastError() == ERROR_BROKEN_PIPE || GetLastError() == ERROR_HANDLE_EOF) return 0;
    error_ = last_error();
    return -1;
}

const uint8_t *File::map() const {
    const HANDLE section = CreateFileMappingW(handle(file_), nullptr, PAGE_READONLY, 0, 0, nullptr);
    const void *mapping = section ? MapViewOfFile(section, FILE_MAP_READ, 0, 0, 0) : nullptr;
    if (!mapping) error_ = last_error();
    if (section) CloseHandle(section); // the mapping keeps it
    return static_cast<const uint8_t *>(mapping);
}

void File::unmap(const uint8_t *mapping, uint64_t) { UnmapViewOfFile(mapping); }

bool File::missing() const { return error_ == ENOENT; }

} // namespace longwave::platform
