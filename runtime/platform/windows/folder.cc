#include "runtime/platform/folder.h"
#include "runtime/platform/windows/names.h"
// The access rights of files.
#include <aclapi.h>
#include <cstdio>

namespace longwave::platform {
namespace {

HANDLE handle(int file) { return LongToHandle(file); } // 32 bits hold each, see files.cc
int number(HANDLE opened) { return opened == INVALID_HANDLE_VALUE ? -1 : HandleToLong(opened); }

// The user that a process runs as, and the owner of what it creates: for administrators their group.
struct Self {
    alignas(8) unsigned char user_[sizeof(TOKEN_USER) + SECURITY_MAX_SID_SIZE];
    alignas(8) unsigned char owner_[sizeof(TOKEN_OWNER) + SECURITY_MAX_SID_SIZE];
    bool known = false;

    Self() {
        HANDLE token;
        DWORD n;
        if (!OpenProcessToken(GetCurrentProcess(), TOKEN_QUERY, &token)) return;
        known = GetTokenInformation(token, TokenUser, user_, sizeof user_, &n) &&
                GetTokenInformation(token, TokenOwner, owner_, sizeof owner_, &n);
        CloseHandle(token);
    }
    bool is(PSID who) const {
        return EqualSid(who, reinterpret_cast<const TOKEN_USER *>(user_)->User.Sid) ||
               EqualSid(who, reinterpret_cast<const TOKEN_OWNER *>(owner_)->Owner);
    }
};

// Those who may change every file anyway, and names for the owner.
bool may_write(PSID who) {
    constexpr WELL_KNOWN_SID_TYPE types[] = {WinLocalSystemSid, WinBuiltinAdministratorsSid,
                                             WinCreatorOwnerSid, WinCreatorOwnerRightsSid};
    for (const WELL_KNOWN_SID_TYPE type : types)
        if (IsWellKnownSid(who, type)) return true;
    return false;
}

// Null: everybody may do anything.
bool others_write(PACL list, const Self &self) {
    if (!list) return true;
    constexpr DWORD writes = FILE_WRITE_DATA | FILE_APPEND_DATA | FILE_DELETE_CHILD | DELETE | WRITE_DAC |
                             WRITE_OWNER | GENERIC_WRITE | GENERIC_ALL;
    for (DWORD i = 0; i < list->AceCount; ++i) {
        void *entry;
        if (!GetAce(list, i, &entry)) return true;
        const auto &rule = *static_cast<const ACCESS_ALLOWED_ACE *>(entry);
        const BYTE type = rule.Header.AceType;
        if (type == ACCESS_DENIED_ACE_TYPE || rule.Header.AceFlags & INHERIT_ONLY_ACE ||
            !(rule.Mask & writes))
            continue;
        if (type != ACCESS_ALLOWED_ACE_TYPE) return true; // conditions that are not weighed here
        const PSID who = const_cast<DWORD *>(&rule.SidStart);
        if (!self.is(who) && !may_write(who)) return true;
    }
    return false;
}

// Why what is opened here may not be believed.
PrivateFolder::Fault mistrust(HANDLE opened) {
    using Fault = PrivateFolder::Fault;
    const Self self;
    PSID owner;
    PACL list;
    PSECURITY_DESCRIPTOR descriptor;
    if (!self.known ||
        GetSecurityInfo(opened, SE_FILE_OBJECT, OWNER_SECURITY_INFORMATION | DACL_SECURITY_INFORMATION,
                        &owner, nullptr, &list, nullptr, &descriptor) != ERROR_SUCCESS)
        return Fault::unknown;
    const Fault fault = !self.is(owner)            ? Fault::of_another_user
                        : others_write(list, self) ? Fault::writable_by_others
                                                   : Fault::none;
    LocalFree(descriptor);
    return fault;
}

// The path of a file of the folder. The folder keeps its place: nobody else may delete or rename it while
// it is open.
class InFolder : public WideText {
public:
    InFolder(int folder, const char *name) {
        const WideText wide(name);
        if (folder < 0 || !wide.text()) return;
        const DWORD room = GetFinalPathNameByHandleW(handle(folder), nullptr, 0, FILE_NAME_NORMALIZED);
        const auto length = static_cast<DWORD>(lstrlenW(wide.text()));
        if (room == 0 || !allocate(room + 1 + length + 1)) return;
        const DWORD n = GetFinalPathNameByHandleW(handle(folder), text_, room + 1, FILE_NAME_NORMALIZED);
        if (n == 0 || n > room) {
            release();
            return;
        }
        text_[n] = L'\\';
        for (DWORD i = 0; i <= length; ++i) text_[n + 1 + i] = wide.text()[i];
    }
};

bool attributes(HANDLE opened, BY_HANDLE_FILE_INFORMATION &info, DWORD wanted) {
    constexpr DWORD kinds = FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT;
    return GetFileType(opened) == FILE_TYPE_DISK && GetFileInformationByHandle(opened, &info) &&
           (info.dwFileAttributes & kinds) == wanted;
}

uint64_t joined(DWORD high, DWORD low) { return uint64_t{high} << 32 | low; }

bool write_all(HANDLE file, const PrivateFolder::Piece &piece) {
    const auto *from = static_cast<const uint8_t *>(piece.data);
    for (uint64_t bytes = piece.bytes; bytes > 0;) {
        DWORD n = 0;
        const uint64_t part = bytes < (1u << 30) ? bytes : (1u << 30);
        if (!WriteFile(file, from, static_cast<DWORD>(part), &n, nullptr) || n == 0) return false;
        from += n;
        bytes -= n;
    }
    return true;
}

} // namespace

PrivateFolder::Fault PrivateFolder::open(const char *path) {
    const WidePath wide(path);
    if (!wide.text()) return Fault::not_a_folder;
    CreateDirectoryW(wide.text(), nullptr); // with the rights of the folder above, which is this user's own
    folder_ = number(CreateFileW(wide.text(), FILE_LIST_DIRECTORY | READ_CONTROL,
                                 FILE_SHARE_READ | FILE_SHARE_WRITE, nullptr, OPEN_EXISTING,
                                 FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT, nullptr));
    if (folder_ < 0) return Fault::not_a_folder;
    BY_HANDLE_FILE_INFORMATION info;
    const bool is_folder = attributes(handle(folder_), info, FILE_ATTRIBUTE_DIRECTORY);
    const Fault fault = is_folder ? mistrust(handle(folder_)) : Fault::not_a_folder;
    if (fault != Fault::none) close();
    return fault;
}

void PrivateFolder::close() {
    if (folder_ >= 0) CloseHandle(handle(folder_));
    folder_ = -1;
}

PrivateFolder::Reading::Reading(const PrivateFolder &folder, const char *name) {
    const InFolder path(folder.folder_, name);
    if (!path.text()) return;
    // A link leads to a file that is not ours to believe.
    const HANDLE file = CreateFileW(
        path.text(), GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
        OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT | SECURITY_SQOS_PRESENT | SECURITY_ANONYMOUS, nullptr);
    if (file == INVALID_HANDLE_VALUE) return;
    BY_HANDLE_FILE_INFORMATION info;
    if (attributes(file, info, 0) && mistrust(file) == Fault::none) {
        file_ = number(file);
        size_ = joined(info.nFileSizeHigh, info.nFileSizeLow);
    } else {
        CloseHandle(file);
    }
}

PrivateFolder::Reading::~Reading() {
    if (file_ >= 0) CloseHandle(handle(file_));
}

bool PrivateFolder::Reading::read(uint8_t *to, uint64_t bytes) {
    while (bytes > 0) {
        DWORD n = 0;
        const uint64_t part = bytes < (1u << 30) ? bytes : (1u << 30);
        if (!ReadFile(handle(file_), to, static_cast<DWORD>(part), &n, nullptr) || n == 0) return false;
        to += n;
        bytes -= n;
    }
    return true;
}

void PrivateFolder::write(const char *name, const Piece *pieces, uint32_t n) const {
    LARGE_INTEGER now; // two threads of one process may write the same file
    QueryPerformanceCounter(&now);
    char temporary[longest_name + 48];
    snprintf(temporary, sizeof temporary, "%s.%lu.%lx", name, GetCurrentProcessId(), now.LowPart);
    const InFolder from(folder_, temporary), to(folder_, name);
    if (!from.text() || !to.text()) return;
    const HANDLE file =
        CreateFileW(from.text(), GENERIC_WRITE, 0, nullptr, CREATE_NEW, FILE_ATTRIBUTE_NORMAL, nullptr);
    if (file == INVALID_HANDLE_VALUE) return;
    bool good = true;
    for (uint32_t p = 0; good && p < n; ++p) good = write_all(file, pieces[p]);
    good = CloseHandle(file) && good;
    if (!good || !MoveFileExW(from.text(), to.text(), MOVEFILE_REPLACE_EXISTING)) DeleteFileW(from.text());
}

bool PrivateFolder::remove(const char *name) const {
    const InFolder path(folder_, name);
    return path.text() && DeleteFileW(path.text());
}

bool PrivateFolder::list(See see, void *context) const {
    const InFolder all(folder_, "*");
    WIN32_FIND_DATAW found;
    const HANDLE list = all.text() ? FindFirstFileW(all.text(), &found) : INVALID_HANDLE_VALUE;
    if (list == INVALID_HANDLE_VALUE) return false;
    FILETIME now;
    GetSystemTimeAsFileTime(&now);
    do {
        char name[4 * MAX_PATH];
        constexpr int64_t second = 10000000; // in units of 100 ns
        const FILETIME &at = found.ftLastWriteTime;
        const auto age = static_cast<int64_t>(joined(now.dwHighDateTime, now.dwLowDateTime) -
                                              joined(at.dwHighDateTime, at.dwLowDateTime));
        if (found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) continue;
        if (WideCharToMultiByte(CP_UTF8, 0, found.cFileName, -1, name, sizeof name, nullptr, nullptr) > 0)
            see(context, name, joined(found.nFileSizeHigh, found.nFileSizeLow), age / second);
    } while (FindNextFileW(list, &found));
    FindClose(list);
    return true;
}

} // namespace longwave::platform
