#include "compiler/codegen/kernel_entry.h"
#include "formats/artifact/hash.h"
#include <cstring>
#include <fmt/format.h>

namespace longwave::compiler {
namespace {

// Hash of the rest, then key, signature and object, each with its length before it.
class Writer {
public:
    Writer() : bytes_(artifact::hash_bytes) {}
    template <class Text> void put(const Text &text) {
        const uint64_t size = text.size();
        const auto *length = reinterpret_cast<const uint8_t *>(&size);
        bytes_.insert(bytes_.end(), length, length + sizeof size);
        bytes_.insert(bytes_.end(), text.begin(), text.end());
    }
    std::vector<uint8_t> finish() {
        uint8_t hash[artifact::hash_bytes];
        artifact::hash(bytes_.data() + sizeof hash, bytes_.size() - sizeof hash, hash);
        std::memcpy(bytes_.data(), hash, sizeof hash);
        return std::move(bytes_);
    }

private:
    std::vector<uint8_t> bytes_;
};

class Reader {
public:
    explicit Reader(const std::vector<uint8_t> &bytes) : at_(bytes.data()), left_(bytes.size()) {}
    bool hash_holds() {
        if (left_ < artifact::hash_bytes) return false;
        uint8_t hash[artifact::hash_bytes];
        left_ -= sizeof hash;
        artifact::hash(at_ + sizeof hash, left_, hash);
        const bool holds = artifact::equal_hash(hash, at_);
        at_ += sizeof hash;
        return holds;
    }
    template <class Text> bool get(Text &text) {
        uint64_t size;
        if (left_ < sizeof size) return false;
        std::memcpy(&size, at_, sizeof size);
        at_ += sizeof size;
        left_ -= sizeof size;
        if (size > left_) return false;
        text.assign(at_, at_ + size);
        at_ += size;
        left_ -= size;
        return true;
    }
    bool at_end() const { return left_ == 0; }

private:
    const uint8_t *at_;
    size_t left_;
};

} // namespace

std::string hex_hash(std::string_view text, size_t digits) {
    uint8_t hash[artifact::hash_bytes];
    artifact::hash(text.data(), text.size(), hash);
    std::string hex;
    for (size_t i = 0; i < digits / 2; i++) hex += fmt::format("{:02x}", hash[i]);
    return hex;
}

std::string file_name(const KernelKey &key) {
    return hex_hash(fmt::format("{}\n{}\n{}", key.spec, key.target, key.versions), 48);
}

std::vector<uint8_t> pack_entry(const KernelKey &key, const KernelText &kernel) {
    Writer writer;
    for (const std::string *text : {&key.spec, &key.target, &key.versions, &kernel.signature})
        writer.put(*text);
    writer.put(kernel.object);
    return writer.finish();
}

std::optional<KernelText> unpack_entry(const std::vector<uint8_t> &bytes, const KernelKey &key) {
    Reader reader(bytes);
    KernelKey found;
    KernelText kernel;
    if (!reader.hash_holds()) return std::nullopt;
    if (!reader.get(found.spec) || !reader.get(found.target) || !reader.get(found.versions))
        return std::nullopt;
    if (found.spec != key.spec || found.target != key.target || found.versions != key.versions)
        return std::nullopt;
    if (!reader.get(kernel.signature) || !reader.get(kernel.object) || !reader.at_end()) return std::nullopt;
    return kernel;
}

} // namespace longwave::compiler
