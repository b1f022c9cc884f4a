#include "runtime/core/status.h"
#include <cstddef>

namespace longwave::runtime {
namespace {

#ifdef LW_FREESTANDING
#define LW_PER_THREAD // there is one thread, and nobody sets up memory for others
#else
#define LW_PER_THREAD thread_local
#endif

// Small, and in the initial-exec model (see CMakeLists.txt): reached without a call that might
// allocate.
LW_PER_THREAD char last_error[512] = "";

class Writer {
public:
    explicit Writer(size_t used) : used_(used) {}
    void put(const char *text) {
        while (*text && used_ + 1 < sizeof last_error) last_error[used_++] = *text++;
    }
    void put(uint64_t number) {
        char digits[21], *p = digits + 20;
        *p = 0;
        do *--p = static_cast<char>('0' + number % 10);
        while (number /= 10);
        put(p);
    }
    void end() { last_error[used_] = 0; }

private:
    size_t used_;
};

void write(size_t at, std::initializer_list<MessagePart> message) {
    Writer writer(at);
    for (const MessagePart &piece : message)
        if (piece.text) writer.put(piece.text);
        else writer.put(piece.number);
    writer.end();
}

} // namespace

void keep_message(std::initializer_list<MessagePart> message) { write(0, message); }
void keep_message(const char *message) { keep_message({MessagePart(message)}); }
void add_to_message(std::initializer_list<MessagePart> message) {
    size_t end = 0; // without strlen, which firmware need not have
    while (*const_cast<const volatile char *>(last_error + end)) end++;
    write(end, message);
}

} // namespace longwave::runtime

void lw_set_last_error(const char *detail) { longwave::runtime::keep_message(detail); }
const char *lw_last_error(void) { return longwave::runtime::last_error; }

#define LW_TEXT_(x) #x
#define LW_TEXT(x) LW_TEXT_(x)
const char *lw_version(void) {
    return LW_TEXT(LW_VERSION_MAJOR) "." LW_TEXT(LW_VERSION_MINOR) "." LW_TEXT(LW_VERSION_PATCH);
}
uint32_t lw_version_number(void) { return LW_VERSION_NUMBER; }

const char *lw_status_text(lw_status status) {
    switch (status) {
    case LW_OK: return "ok";
    case LW_AGAIN: return "no output yet: push more input";
    case LW_END: return "finished: every output was pulled";
    case LW_INVALID_ARGUMENT: return "invalid argument";
    case LW_WRONG_STATE: return "not possible in this state";
    case LW_TOO_SMALL: return "buffer too small";
    case LW_NOT_FOUND: return "not found";
    case LW_NO_STREAM: return "the artifact has no such entry";
    case LW_TOO_LONG: return "longer than the capacity";
    case LW_TOO_SHORT: return "shorter than a layer can take";
    case LW_BAD_ARTIFACT: return "damaged or malformed artifact";
    case LW_BAD_VERSION: return "made by another version of the format";
    case LW_UNSIGNED_CODE: return "unsigned code";
    case LW_NO_VARIANT: return "no code for this CPU";
    case LW_BAD_STATE: return "saved state does not fit";
    case LW_NO_CODE: return "the file has no code";
    case LW_OLD_VERSION: return "older than the least version";
    case LW_BAD_TOKEN: return "token id outside the vocabulary";
    case LW_NO_MEMORY: return "out of memory";
    case LW_IO: return "file error";
    case LW_DEVICE: return "device error";
    case LW_NOT_FINITE: return "a value is not finite, or beyond float16";
    case LW_NO_DEVICE: return "no such device";
    case LW_UNSUPPORTED: return "not possible on this device";
    case LW_DEVICE_LOST: return "device lost";
    case LW_TIMEOUT: return "no answer in time";
    case LW_DEVICE_WRONG: return "device answers wrongly";
    case LW_CHECK_FAILED: return "an output differs from its golden vector";
    case LW_STATUS_FORCE: break;
    }
    return "unknown status";
}
