// NumPy's .npy files: arrays of numbers, little endian. An Array is row major (C order), whatever
// the file is.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::cli {

struct Array {
    std::string type; // of the file's elements: "f4"
    std::vector<uint64_t> shape;
    std::vector<double> data;
    uint64_t rows(size_t width) const { return width ? data.size() / width : 0; }
};

// Element types f4, f8, i1, i2, i4, i8, u1, u2, u4.
Expected<Array> read_npy(const std::string &path);
// Writes float32 atomically: `path` has the old or the new content.
Status write_npy(const std::string &path, const std::vector<uint64_t> &shape, const std::vector<float> &data);

} // namespace longwave::cli
