#include "tools/cli/files/npy.h"
#include "formats/base/checked.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/text/text_input.h"
#include <algorithm>
#include <cstring>

namespace longwave::cli {
namespace {

constexpr char magic[] = "\x93NUMPY";

template <class T> void append(std::vector<double> &out, const std::string &bytes) {
    for (size_t i = 0; i + sizeof(T) <= bytes.size(); i += sizeof(T)) {
        T value;
        std::memcpy(&value, bytes.data() + i, sizeof value);
        out.push_back(static_cast<double>(value));
    }
}

// The value of a key of the header's Python dictionary, up to the next comma or closing bracket
// that ends it.
std::string value_of(const std::string &header, const std::string &key) {
    const size_t at = header.find("'" + key + "'");
    if (at == std::string::npos) return "";
    size_t from = header.find(':', at);
    if (from == std::string::npos) return "";
    from = header.find_first_not_of(' ', from + 1);
    if (from == std::string::npos) return "";
    const size_t to = header[from] == '(' ? header.find(')', from) : header.find_first_of(",}", from);
    return to == std::string::npos ? "" : header.substr(from, to - from);
}

// From Fortran order, in which the first index runs fastest, to C order.
std::vector<double> row_major(const std::vector<double> &columns, const std::vector<uint64_t> &shape) {
    std::vector<double> rows(columns.size());
    std::vector<uint64_t> index(shape.size());
    for (const double value : columns) {
        uint64_t at = 0;
        for (size_t d = 0; d < shape.size(); d++) at = at * shape[d] + index[d];
        rows[at] = value;
        for (size_t d = 0; d < shape.size() && ++index[d] == shape[d]; d++) index[d] = 0;
    }
    return rows;
}

} // namespace

Expected<Array> read_npy(const std::string &path) {
    LW_ASSIGN(TextInput file, TextInput::open(path));
    const auto bad = [&](const std::string &why) {
        return Status::input(path + ": not a readable .npy file: " + why);
    };

    LW_ASSIGN(const std::string front, file.read(8)); // magic number and version
    if (front.size() < 8 || !front.starts_with(magic)) return bad("the magic number is missing");
    LW_ASSIGN(const std::string size, file.read(front[6] >= 2 ? 4 : 2));
    size_t length = 0;
    for (size_t i = 0; i < size.size(); i++) length |= size_t{static_cast<uint8_t>(size[i])} << 8 * i;
    if (length > 65536) return bad("the header is longer than 64 KiB");
    LW_ASSIGN(const std::string header, file.read(length));
    if (size.size() < 2 || header.size() < length) return bad("the file ends inside the header");

    const std::string order = value_of(header, "fortran_order");
    if (order != "False" && order != "True") return bad("fortran_order is not True or False");
    std::string type = value_of(header, "descr");
    if (type.size() < 5 || (type[1] != '<' && type[1] != '|'))
        return bad("element type " + type + " is not a little-endian number");
    type = type.substr(2, type.size() - 3); // without quotes and byte order

    Array array;
    array.type = type;
    uint64_t count = 1, bytes = 0, item = static_cast<uint64_t>(type[1] - '0');
    const std::string shape = value_of(header, "shape");
    for (size_t at = shape.find_first_of("0123456789"); at != std::string::npos;
         at = shape.find_first_of("0123456789", at)) {
        uint64_t dim = 0;
        for (; at < shape.size() && shape[at] >= '0' && shape[at] <= '9'; at++)
            if (!checked::mul(dim, 10, &dim) ||
                !checked::add(dim, static_cast<uint64_t>(shape[at] - '0'), &dim))
                return bad("the shape is too large");
        array.shape.push_back(dim);
        if (!checked::mul(count, dim, &count)) return bad("the shape is too large");
    }
    if (!checked::mul(count, item, &bytes) || bytes > uint64_t{1} << 34) return bad("the shape is too large");

    std::string data;
    while (data.size() < bytes) { // grows with the data, not with the size in the header
        LW_ASSIGN(const std::string piece, file.read(std::min<uint64_t>(bytes - data.size(), 1 << 20)));
        data += piece;
        if (piece.empty())
            return bad("the file has " + std::to_string(data.size()) +
                       " bytes of elements, but its shape needs " + std::to_string(bytes));
    }
    array.data.reserve(count);
    if (type == "f4") append<float>(array.data, data);
    else if (type == "f8") append<double>(array.data, data);
    else if (type == "i1") append<int8_t>(array.data, data);
    else if (type == "i2") append<int16_t>(array.data, data);
    else if (type == "i4") append<int32_t>(array.data, data);
    else if (type == "i8") append<int64_t>(array.data, data);
    else if (type == "u1") append<uint8_t>(array.data, data);
    else if (type == "u2") append<uint16_t>(array.data, data);
    else if (type == "u4") append<uint32_t>(array.data, data);
    else return bad("element type " + type + " is not supported; save it as float32 or int32");
    if (order == "True") array.data = row_major(array.data, array.shape);
    return array;
}

Status write_npy(const std::string &path, const std::vector<uint64_t> &shape,
                 const std::vector<float> &data) {
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (";
    for (uint64_t dim : shape) header += std::to_string(dim) + ",";
    header += "), }";
    while ((10 + header.size() + 1) % 64 != 0) header += ' ';
    header += '\n';
    std::vector<uint8_t> bytes(magic, magic + 6);
    bytes.insert(bytes.end(),
                 {1, 0, static_cast<uint8_t>(header.size() & 255), static_cast<uint8_t>(header.size() >> 8)});
    bytes.insert(bytes.end(), header.begin(), header.end());
    const auto *raw = reinterpret_cast<const uint8_t *>(data.data());
    bytes.insert(bytes.end(), raw, raw + data.size() * sizeof(float));
    return write_output(path, bytes);
}

} // namespace longwave::cli
