// longwave/pack.h: options and results of C, and no exception beyond it.
#include "formats/package/safetensors.h"
#include "packer/pack.h"
#include <cstdlib>
#include <cstring>
#include <longwave/pack.h>
#include <new>

using namespace longwave;

namespace {

lw_status failed(lw_status status, const char *detail) {
    lw_set_last_error(detail);
    return status;
}

// Fields beyond the caller's struct take their defaults.
template <class Struct> bool copied(const Struct *from, Struct &to) {
    to = lw_initial<Struct>();
    if (!from) return true;
    if (from->struct_size < sizeof from->struct_size) return false;
    std::memcpy(&to, from, std::min(from->struct_size, sizeof to));
    return true;
}

lw_status pack(std::span<const uint8_t> shape, std::span<const uint8_t> weights, const lw_pack_options &how,
               lw_pack_report &done, void **out, size_t *out_bytes) {
    const auto tensors = package::parse_safetensors(weights, "the weights");
    if (!tensors) return failed(LW_INVALID_ARGUMENT, tensors.status().message().c_str());
    packer::Options options{.open = how.open, .check = !how.no_check};
    packer::Signing signing;
    if (how.sign) {
        std::memcpy(signing.key.data(), how.sign_key, signing.key.size());
        signing.version = how.version;
        signing.sign = [&](const uint8_t *root, uint8_t *signature) {
            return how.sign(how.sign_context, root, signature) != 0;
        };
        options.signing = &signing;
    }
    lw_status status;
    const auto packed = packer::pack(shape, *tensors, options, &status);
    if (!packed) return failed(status, packed.status().message().c_str());
    void *copy = std::malloc(packed->bytes.size());
    if (!copy) return failed(LW_NO_MEMORY, "no memory for the new file");
    std::memcpy(copy, packed->bytes.data(), packed->bytes.size());
    done.tensors = static_cast<uint32_t>(packed->tensors);
    done.vectors = static_cast<uint32_t>(packed->vectors);
    done.worst = packed->worst;
    *out = copy;
    *out_bytes = packed->bytes.size();
    return LW_OK;
}

} // namespace

lw_status lw_pack(const void *shape, size_t shape_bytes, const void *weights, size_t weights_bytes,
                  const lw_pack_options *options, lw_pack_report *report, void **out, size_t *out_bytes) {
    if (out) *out = nullptr;
    if (!shape || !weights || !out || !out_bytes) return failed(LW_INVALID_ARGUMENT, "lw_pack: a NULL");
    lw_pack_options how;
    lw_pack_report done = LW_PACK_REPORT_INIT;
    if (!copied(options, how) || (report && report->struct_size < sizeof report->struct_size))
        return failed(LW_INVALID_ARGUMENT, "lw_pack: struct_size is not set");
    if (how.sign && !how.sign_key) return failed(LW_INVALID_ARGUMENT, "lw_pack: sign without sign_key");
    if (how.open && how.open->device)
        return failed(LW_INVALID_ARGUMENT, "lw_pack: lw_open_options.device must be NULL");
    try {
        const auto *s = static_cast<const uint8_t *>(shape), *w = static_cast<const uint8_t *>(weights);
        const lw_status status = pack({s, shape_bytes}, {w, weights_bytes}, how, done, out, out_bytes);
        if (status == LW_OK && report) {
            const size_t size = std::min(report->struct_size, sizeof done);
            done.struct_size = report->struct_size;
            std::memcpy(report, &done, size);
        }
        return status;
    } catch (const std::bad_alloc &) {
        return failed(LW_NO_MEMORY, "lw_pack: no memory");
    }
}

void lw_pack_free(void *bytes) { std::free(bytes); }
