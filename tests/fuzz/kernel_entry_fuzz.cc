// Entries of the kernel cache, and the signatures in them. The first byte says whether the entry is
// given the hash of its bytes. What must hold: any bytes are no entry, or one that is packed again
// as it came; any signature is read or refused.
#include "compiler/codegen/kernel_entry.h"
#include "formats/artifact/hash.h"
#include "tests/fuzz/must.h"
#include <cstring>

using namespace longwave;
using fuzz::must;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    const compiler::KernelKey key{"spec", "x86-64-v3", "1"};
    std::vector<uint8_t> bytes(data + 1, data + size);
    if ((data[0] & 1) && bytes.size() >= artifact::hash_bytes) {
        uint8_t hash[artifact::hash_bytes];
        artifact::hash(bytes.data() + sizeof hash, bytes.size() - sizeof hash, hash);
        memcpy(bytes.data(), hash, sizeof hash);
    }
    if (const auto kernel = compiler::unpack_entry(bytes, key)) {
        must(compiler::pack_entry(key, *kernel) == bytes, "an entry is packed again as it came");
        (void)compiler::parse_signature(kernel->signature);
    }
    const auto signature = compiler::parse_signature(std::string(bytes.begin(), bytes.end()));
    must(signature || !signature.status().message().empty(), "a refusal says why");
    return 0;
}
