#include "compiler/codegen/kernel_entry.h"
#include "formats/artifact/hash.h"
#include "formats/package/json_text.h"
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <optional>

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

namespace {

using nlohmann::json;
using schedules::ArgKind;
using schedules::KernelArg;

template <class Value> struct Word {
    const char *text;
    Value value;
};
constexpr Word<ArgKind> kinds[] = {
    {"input", ArgKind::input},
    {"output", ArgKind::output},
    {"inout", ArgKind::inout},
    {"scalar", ArgKind::scalar},
};
constexpr Word<Elem> elems[] = {
    {name_of(Elem::f32), Elem::f32},
    {name_of(Elem::i32), Elem::i32},
    {name_of(Elem::f64), Elem::f64},
};
// What a scalar may say about its values: a number of at least so much, or nothing.
struct Bound {
    const char *key;
    int32_t KernelArg::*field;
    int32_t least;
};
constexpr Bound bounds[] = {
    {"high", &KernelArg::high, 0},
    {"multiple", &KernelArg::multiple, 1},
};

constexpr size_t max_signature_depth = 8, max_rank = 8;
constexpr uint32_t most_sectors = 32; // one for each lane

Status wrong_signature(const std::string &where, const std::string &expected) {
    return Status::internal(fmt::format("kernel signature: {}: expected {}", where, expected));
}

// The member of an object; null where there is none.
json member(const json &object, const char *key) {
    const auto it = object.find(key);
    return it == object.end() ? json() : *it;
}

template <class Number> std::optional<Number> number(const json &value) {
    if (value.is_number_unsigned()) {
        const auto n = value.get<uint64_t>();
        if (n <= static_cast<uint64_t>(std::numeric_limits<Number>::max())) return static_cast<Number>(n);
    } else if (value.is_number_integer()) {
        const auto n = value.get<int64_t>();
        if (std::is_signed_v<Number> && n < 0 &&
            n >= static_cast<int64_t>(std::numeric_limits<Number>::min()))
            return static_cast<Number>(n);
    }
    return std::nullopt;
}

template <class Value, size_t n>
std::optional<Value> value_of(const Word<Value> (&words)[n], const json &text) {
    for (const auto &word : words)
        if (text == word.text) return word.value;
    return std::nullopt;
}

Status read_dims(const json &dims, const std::string &where, KernelArg &arg) {
    if (dims.is_null()) return Status::ok();
    if (!dims.is_array() || dims.size() > max_rank)
        return wrong_signature(where + ".dims", "a list of at most 8 dimensions");
    for (const json &dim : dims) {
        const bool pair = dim.is_array() && dim.size() == 2;
        const auto extent = number<uint32_t>(pair ? dim[0] : json());
        const auto stride = number<int32_t>(pair ? dim[1] : json());
        if (!extent || !stride) return wrong_signature(where + ".dims", "pairs of extent and stride");
        arg.dims.push_back({*extent, *stride});
    }
    return Status::ok();
}

Expected<KernelArg> read_argument(const json &object, const std::string &where) {
    if (!object.is_object()) return wrong_signature(where, "an object");
    const json name = member(object, "name");
    const auto kind = value_of(kinds, member(object, "kind"));
    const auto elem = value_of(elems, member(object, "elem"));
    if (!name.is_string()) return wrong_signature(where + ".name", "a text");
    if (!kind) return wrong_signature(where + ".kind", "input, output, inout or scalar");
    if (!elem) return wrong_signature(where + ".elem", "an element type");
    KernelArg arg{.name = name, .kind = *kind, .elem = *elem};
    LW_TRY(read_dims(member(object, "dims"), where, arg));
    for (const Bound &bound : bounds) {
        const json value = member(object, bound.key);
        if (value.is_null()) continue;
        const auto n = number<int32_t>(value);
        if (!n || *n < bound.least)
            return wrong_signature(where + "." + bound.key,
                                   fmt::format("a number of at least {}", bound.least));
        arg.*bound.field = *n;
    }
    return arg;
}

// The numbers of the arguments that may be stored as float16; nothing for CPUs.
Status read_fp16(const json &numbers, std::vector<KernelArg> &args) {
    if (numbers.is_null()) return Status::ok();
    if (!numbers.is_array()) return wrong_signature("fp16", "a list");
    for (const json &one : numbers) {
        const auto n = number<uint32_t>(one);
        if (!n || *n >= args.size() || args[*n].elem != Elem::f32)
            return wrong_signature("fp16", "numbers of float32 arguments");
        args[*n].fp16 = true;
    }
    return Status::ok();
}

// Lists of the numbers of arguments that change their layout together; nothing for CPUs.
Status read_layout_groups(const json &groups, std::vector<KernelArg> &args) {
    if (groups.is_null()) return Status::ok();
    if (!groups.is_array() || groups.size() > UINT8_MAX) return wrong_signature("layout_groups", "a list");
    for (size_t group = 0; group < groups.size(); group++)
        for (const json &one : groups[group]) {
            const auto n = number<uint32_t>(one);
            if (!n || *n >= args.size() || args[*n].dims.size() < 2)
                return wrong_signature("layout_groups", "numbers of arguments with rows");
            args[*n].layout_group = static_cast<uint8_t>(group + 1);
        }
    return Status::ok();
}

// Absent: no request takes more than the ideal.
Status read_sectors(const json &sectors, schedules::Signature &signature) {
    if (sectors.is_null()) return Status::ok();
    const auto found = number<uint32_t>(sectors);
    if (!found || *found < schedules::ideal_sectors || *found > most_sectors)
        return wrong_signature("sectors_by_row",
                               fmt::format("{} to {}", schedules::ideal_sectors, most_sectors));
    signature.sectors_by_row = *found;
    return Status::ok();
}

} // namespace

Expected<schedules::Signature> parse_signature(const std::string &text) {
    package::Problems problems;
    const auto document = package::parse_json(text, "kernel signature", max_signature_depth, problems);
    if (!document) return Status::internal(problems.status().message());
    if (!document->is_object()) return wrong_signature("all of it", "an object");
    const json args = member(*document, "args");
    if (!args.is_array()) return wrong_signature("args", "a list");
    const auto scratch = number<uint64_t>(member(*document, "scratch_bytes"));
    if (!scratch) return wrong_signature("scratch_bytes", "a number that is not negative");
    schedules::Signature signature{.scratch_bytes = *scratch};
    for (size_t i = 0; i < args.size(); i++) {
        LW_ASSIGN(KernelArg arg, read_argument(args[i], fmt::format("args[{}]", i)));
        signature.args.push_back(std::move(arg));
    }
    LW_TRY(read_fp16(member(*document, "fp16"), signature.args));
    LW_TRY(read_layout_groups(member(*document, "layout_groups"), signature.args));
    LW_TRY(read_sectors(member(*document, "sectors_by_row"), signature));
    signature.prefers_one_order = member(*document, "prefers_one_order") == true;
    return signature;
}

} // namespace longwave::compiler
