// One file of the kernel cache: a compiled kernel together with what it was compiled from. A file
// says itself what it is, so that one that was renamed, exchanged or left by another version is
// noticed.
#pragma once
#include "formats/base/expected.h"
#include "schedules/contract/kernel.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::compiler {

struct KernelKey {
    std::string spec, target;
    std::string versions; // of all that decides the code
};

struct KernelText {
    std::string signature; // JSON (parse_signature)
    std::vector<uint8_t> object;
};

// The first `digits` hexadecimal digits of the text's hash.
std::string hex_hash(std::string_view text, size_t digits);
std::string file_name(const KernelKey &key);
std::vector<uint8_t> pack_entry(const KernelKey &key, const KernelText &kernel);
// Nothing for bytes that are not whole, or an entry for another key.
std::optional<KernelText> unpack_entry(const std::vector<uint8_t> &bytes, const KernelKey &key);

// What longwave-kgen tells about a kernel beside its object.

// {"args":[{"name":"x","kind":"input","elem":"f32","dims":[[96,1],[4,96]]}, …],"scratch_bytes":0}
// Keys that are not known mean nothing. Fault::internal says what is wrong: whoever wrote the text
// is a program of ours, or somebody else.
Expected<schedules::Signature> parse_signature(const std::string &text);

} // namespace longwave::compiler
