#include "formats/package/safetensors.h"
#include "formats/base/checked.h"
#include "formats/base/float_array.h"
#include "formats/package/attributes.h"
#include "formats/package/file_bytes.h"
#include "formats/package/json_text.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <optional>
#include <tuple>

namespace longwave::package {
namespace {

using nlohmann::json;

constexpr uint64_t max_header = 100'000'000; // the format's own limit
constexpr uint64_t max_file = uint64_t{1} << 36;
constexpr size_t max_rank = 8, max_tensors = 16'384;
constexpr uint64_t large_file = uint64_t{64} << 20; // from so many bytes on, its tensors stay in it

float widen_half(uint16_t h) {
    uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16, exponent = (h >> 10) & 31u,
             mantissa = h & 0x3ffu;
    if (exponent == 0) { // zero and subnormals: mantissa · 2^-24
        float value = static_cast<float>(mantissa) * 0x1p-24f;
        return sign ? -value : value;
    }
    uint32_t bits = exponent == 31 ? 0x7f800000u | mantissa << 13 : (exponent + 112) << 23 | mantissa << 13;
    return std::bit_cast<float>(sign | bits);
}

template <class T> T load(const uint8_t *p) {
    static_assert(std::endian::native == std::endian::little, "the format is little-endian");
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
}

struct ElementType {
    const char *name;
    uint64_t size;
    float (*widen)(const uint8_t *); // null: float32 as it is
};

const ElementType element_types[] = {
    {"F32", 4, nullptr},
    {"F64", 8, [](const uint8_t *p) { return static_cast<float>(load<double>(p)); }},
    {"F16", 2, [](const uint8_t *p) { return widen_half(load<uint16_t>(p)); }},
    {"BF16", 2, [](const uint8_t *p) { return widen_bf16(load<uint16_t>(p)); }},
    {"I64", 8, [](const uint8_t *p) { return static_cast<float>(load<int64_t>(p)); }},
    {"BOOL", 1, [](const uint8_t *p) { return static_cast<float>(*p); }},
};

struct Entry {
    std::string key;
    const ElementType *type = nullptr;
    std::vector<uint64_t> shape;
    uint64_t elements = 1, begin = 0, end = 0;
};

// A list of numbers that fit uint64.
bool read_list(const json &value, std::vector<uint64_t> &out) {
    if (!value.is_array()) return false;
    for (const auto &v : value) {
        if (!v.is_number_unsigned()) return false;
        out.push_back(v.get<uint64_t>());
    }
    return true;
}

// One tensor of the header; false when something was reported.
bool read_entry(const std::string &key, const json &info, Entry &entry, Problems &problems) {
    const std::string where = "tensor " + in_quotes(key);
    size_t before = problems.count();
    entry.key = key;
    if (key.empty()) problems.add(where, "a name", "an empty one");
    if (!plain_text(key)) problems.add(where, "a name without control characters", in_quotes(key));
    if (!info.is_object()) {
        problems.add(where, "an object with dtype, shape and data_offsets", describe(info));
        return false;
    }
    for (const auto &[name, value] : info.items()) {
        if (name != "dtype" && name != "shape" && name != "data_offsets")
            problems.add(where, "only dtype, shape and data_offsets", "the key " + in_quotes(name));
    }
    for (const char *name : {"dtype", "shape", "data_offsets"}) {
        if (!info.contains(name)) problems.add(where, std::string("the key \"") + name + "\"", "none");
    }
    if (problems.count() != before) return false;

    const json &type = info["dtype"];
    if (type.is_string()) {
        for (const auto &known : element_types)
            if (type.get_ref<const std::string &>() == known.name) entry.type = &known;
    }
    if (!entry.type)
        problems.add(where, "element type F32 (or F64, F16, BF16, I64, BOOL)", describe(type),
                     "convert it to float32 before saving");
    if (!read_list(info["shape"], entry.shape))
        problems.add(where, "a shape of whole numbers", compact(info["shape"]));
    if (entry.shape.size() > max_rank)
        problems.add(where, "at most 8 dimensions", std::to_string(entry.shape.size()));
    std::vector<uint64_t> offsets;
    if (!read_list(info["data_offsets"], offsets) || offsets.size() != 2) {
        problems.add(where, "data_offsets [begin, end]", compact(info["data_offsets"]));
    } else if (offsets[0] > offsets[1]) {
        problems.add(where, "data_offsets in order", compact(info["data_offsets"]));
    } else {
        entry.begin = offsets[0];
        entry.end = offsets[1];
    }
    if (problems.count() != before) return false;

    uint64_t bytes = 0;
    bool fits = true;
    for (uint64_t d : entry.shape) fits = fits && checked::mul(entry.elements, d, &entry.elements);
    fits = fits && checked::mul(entry.elements, entry.type->size, &bytes);
    if (!fits) {
        problems.add(where, "a shape whose size fits 64 bits", shape_text(entry.shape));
    } else if (bytes != entry.end - entry.begin) {
        problems.add(where,
                     std::to_string(bytes) + " bytes for shape " + shape_text(entry.shape) + " of " +
                         entry.type->name,
                     std::to_string(entry.end - entry.begin));
    }
    return problems.count() == before;
}

// Tensors must lie one after the other, from the first byte to the last.
void check_layout(std::vector<Entry> &entries, uint64_t size, const std::string &source, Problems &problems) {
    std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
        return std::tie(a.begin, a.end, a.key) < std::tie(b.begin, b.end, b.key);
    });
    uint64_t at = 0;
    for (const auto &entry : entries) {
        const std::string where = "tensor " + in_quotes(entry.key);
        if (entry.end > size)
            problems.add(where, "data inside the file (" + std::to_string(size) + " bytes of data)",
                         "an end at " + std::to_string(entry.end),
                         "the file is cut short; copy or export it again");
        else if (entry.begin < at)
            problems.add(where, "a start at " + std::to_string(at),
                         std::to_string(entry.begin) + ", which overlaps the tensor before");
        else if (entry.begin > at)
            problems.add(where, "a start at " + std::to_string(at),
                         std::to_string(entry.begin) + ", which leaves a gap");
        at = std::max(at, entry.end);
    }
    if (at < size)
        problems.add(source, "the last tensor to end at the end of the file",
                     std::to_string(size - at) + " bytes after it");
}

// Fills `to` with the bytes from `offset` on.
using Read = std::function<Status(uint64_t offset, std::span<uint8_t> to)>;

Expected<json> read_header(uint64_t header, const Read &read, const std::string &source, Problems &problems) {
    std::vector<uint8_t> bytes(header);
    LW_TRY(read(8, bytes));
    const std::string_view text(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    if (text.front() != '{') {
        problems.add(source, "a header that starts with '{'", in_quotes(text.substr(0, 1)),
                     "this is not a safetensors file");
        return problems.status();
    }
    auto document = parse_json(text, source + " header", 4, problems);
    if (!document) return problems.status();
    return *std::move(document);
}

std::vector<Entry> read_entries(const json &document, const std::string &source, Problems &problems) {
    std::vector<Entry> entries;
    if (document.size() > max_tensors)
        problems.add(source, "at most " + std::to_string(max_tensors) + " tensors",
                     std::to_string(document.size()));
    for (const auto &[key, info] : document.items()) {
        if (key == "__metadata__") {
            bool texts = info.is_object();
            if (texts)
                for (const auto &v : info) texts = texts && v.is_string();
            if (!texts) problems.add(source + ": __metadata__", "an object of texts", describe(info));
            continue;
        }
        Entry entry;
        if (read_entry(key, info, entry, problems)) entries.push_back(std::move(entry));
    }
    return entries;
}

// The elements in the memory where they will stay: float32 as they are, others through a small
// buffer.
Expected<std::vector<float>> read_elements(const Entry &entry, uint64_t data, const Read &read,
                                           Problems &problems) {
    std::vector<float> values(entry.elements);
    if (!entry.type->widen) {
        LW_TRY(read(data + entry.begin,
                    {reinterpret_cast<uint8_t *>(values.data()), values.size() * sizeof(float)}));
        return values;
    }
    const uint64_t size = entry.type->size;
    std::vector<uint8_t> buffer(std::min<uint64_t>(uint64_t{1} << 16, entry.elements) * size);
    for (uint64_t first = 0, count; first < entry.elements; first += count) {
        count = std::min(entry.elements - first, buffer.size() / size);
        LW_TRY(read(data + entry.begin + first * size, {buffer.data(), count * size}));
        for (uint64_t i = 0; i < count; ++i) {
            const uint8_t *p = buffer.data() + i * size;
            if (size == 1 && *p > 1) {
                problems.add("tensor " + in_quotes(entry.key) + " index " + std::to_string(first + i),
                             "0 or 1 in a BOOL tensor", std::to_string(*p));
                return values;
            }
            values[first + i] = entry.type->widen(p);
        }
    }
    return values;
}

// The elements where they are; nothing: their type is not one that is read in place.
std::optional<FloatArray> mapped_elements(const Entry &entry, uint64_t data,
                                          const std::shared_ptr<const FilePages> &pages) {
    const bool bf16 = entry.type->widen && std::string_view(entry.type->name) == "BF16";
    if (!pages || (entry.type->widen && !bf16)) return {};
    return FloatArray(pages, data + entry.begin, entry.elements,
                      bf16 ? FloatArray::Stored::bf16 : FloatArray::Stored::float32);
}

// `pages`: the whole file, whose tensors stay in it; null: they are read.
Expected<std::map<std::string, Tensor>> read_tensors(uint64_t size, const Read &read,
                                                     const std::shared_ptr<const FilePages> &pages,
                                                     const std::string &source) {
    Problems problems;
    if (size < 8) {
        problems.add(source, "8 bytes of header length", std::to_string(size) + " bytes",
                     "this is not a safetensors file");
        return problems.status();
    }
    uint8_t length[8];
    LW_TRY(read(0, length));
    const auto header = load<uint64_t>(length);
    if (header > max_header || header > size - 8 || header < 2) {
        problems.add(
            source, "a header of 2 to " + std::to_string(std::min<uint64_t>(max_header, size - 8)) + " bytes",
            std::to_string(header), "the file is cut short or no safetensors file");
        return problems.status();
    }
    LW_ASSIGN(const json document, read_header(header, read, source, problems));
    std::vector<Entry> entries = read_entries(document, source, problems);
    // Without all entries a gap would be reported that is not there.
    if (!problems.any()) check_layout(entries, size - 8 - header, source, problems);
    if (problems.any()) return problems.status();

    std::map<std::string, Tensor> tensors;
    for (auto &entry : entries) {
        auto data = mapped_elements(entry, 8 + header, pages);
        if (!data) {
            LW_ASSIGN(data, read_elements(entry, 8 + header, read, problems));
        }
        tensors[entry.key] = {std::move(entry.shape), *std::move(data)};
    }
    if (problems.any()) return problems.status();
    return tensors;
}

} // namespace

Expected<std::map<std::string, Tensor>> parse_safetensors(std::span<const uint8_t> bytes,
                                                          const std::string &source) {
    const auto read = [&](uint64_t offset, std::span<uint8_t> to) {
        std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(offset), to.size(), to.begin());
        return Status::ok();
    };
    return read_tensors(bytes.size(), read, nullptr, source);
}

Expected<std::map<std::string, Tensor>> read_safetensors(const std::string &path) {
    return read_safetensors(path, large_file);
}

Expected<std::map<std::string, Tensor>> read_safetensors(const std::string &path, uint64_t mapped_from) {
    LW_ASSIGN(const InputFile file, InputFile::open(path, max_file));
    const auto read = [&](uint64_t offset, std::span<uint8_t> to) { return file.read(offset, to); };
    std::shared_ptr<const FilePages> pages;
    if (file.size() >= mapped_from) {
        LW_ASSIGN(pages, file.map());
    }
    return read_tensors(file.size(), read, pages, path);
}

} // namespace longwave::package
