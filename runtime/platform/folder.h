// A folder that belongs to this user alone, for files that a library leaves for its next time.
#pragma once
#include <cstdint>

namespace longwave::platform {

class PrivateFolder {
public:
    // Why it is not used.
    enum class Fault { none, not_a_folder, unknown, of_another_user, writable_by_others };
    // Makes the last folder of the path, which only its owner may enter. Rejects a link.
    Fault open(const char *path);
    void close();
    bool is_open() const { return folder_ >= 0; }

    // A file of the folder while it is read. Only regular files of this user, which no other may write.
    class Reading {
    public:
        Reading(const PrivateFolder &folder, const char *name);
        ~Reading();
        Reading(const Reading &) = delete;
        Reading &operator=(const Reading &) = delete;
        bool good() const { return file_ >= 0; }
        uint64_t size() const { return size_; }
        bool read(uint8_t *to, uint64_t bytes); // the next bytes, all of them or false

    private:
        int file_ = -1;
        uint64_t size_ = 0;
    };

    struct Piece {
        const void *data;
        uint64_t bytes;
    };
    static constexpr uint32_t longest_name = 80;
    // The pieces become a file of this name, as a whole or not at all, whoever reads meanwhile. Until
    // then they lie in a file whose name begins with it and a dot. `name`: at most longest_name bytes.
    void write(const char *name, const Piece *pieces, uint32_t n) const;
    bool remove(const char *name) const; // false: it is still there

    // Calls see(context, name, bytes, age) for each file. `age`: seconds since it was written. The
    // order is any. False: the folder cannot be listed.
    using See = void (*)(void *context, const char *name, uint64_t bytes, int64_t age);
    bool list(See see, void *context) const;

private:
    int folder_ = -1; // the system's name of it
};

} // namespace longwave::platform
