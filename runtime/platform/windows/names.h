// Names of files: UTF-8 for the caller, UTF-16 for Windows.
#pragma once
#include "runtime/platform/windows/system.h"

namespace longwave::platform {

// A text in UTF-16, and room behind it. Null: the text is not UTF-8, or there is no memory. The system
// keeps which.
class WideText {
public:
    explicit WideText(const char *utf8) {
        const int n = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8, -1, nullptr, 0);
        if (n == 0 || !allocate(static_cast<DWORD>(n))) return;
        MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, utf8, -1, text_, n);
    }
    ~WideText() { release(); }
    WideText(const WideText &) = delete;
    WideText &operator=(const WideText &) = delete;
    const wchar_t *text() const { return text_; }

protected:
    WideText() = default;
    bool allocate(DWORD characters) {
        text_ = static_cast<wchar_t *>(HeapAlloc(GetProcessHeap(), 0, characters * sizeof(wchar_t)));
        if (!text_) SetLastError(ERROR_NOT_ENOUGH_MEMORY);
        return text_ != nullptr;
    }
    void release() {
        if (text_) HeapFree(GetProcessHeap(), 0, text_);
        text_ = nullptr;
    }

    wchar_t *text_ = nullptr;
};

// A path from the root of its drive. Windows takes more than 260 characters only of a path that says
// that nothing in it is to be interpreted: `\\?\`.
class WidePath : public WideText {
public:
    explicit WidePath(const char *utf8) {
        const WideText given(utf8);
        if (!given.text()) return;
        const DWORD room = GetFullPathNameW(given.text(), 0, nullptr, nullptr);
        if (room == 0 || !allocate(longest_prefix + room)) return;
        wchar_t *const full = text_ + longest_prefix;
        const DWORD n = GetFullPathNameW(given.text(), room, full, nullptr);
        if (n == 0 || n >= room) {
            release();
            return;
        }
        const bool share = full[0] == L'\\' && full[1] == L'\\';
        const bool literal = share && (full[2] == L'?' || full[2] == L'.') && full[3] == L'\\';
        const wchar_t *const prefix = literal || n < MAX_PATH - 12 ? L"" : share ? L"\\\\?\\UNC" : L"\\\\?\\";
        DWORD at = 0;
        while (prefix[at]) text_[at] = prefix[at], ++at;
        // \\server becomes \\?\UNC\server.
        for (DWORD i = prefix[0] && share ? 1 : 0; i <= n; ++i) text_[at++] = full[i];
    }

private:
    static constexpr DWORD longest_prefix = 8;
};

} // namespace longwave::platform
