#include "runtime/model/trust.h"
#include "formats/artifact/hash.h"
#include "runtime/core/status.h"

namespace longwave::runtime {
namespace {

bool needs_signature(const lw_open_options &options) {
    return options.require_signature || options.least_version > 0;
}

bool accepted_key(const lw_open_options &options, const uint8_t *key) {
    static_assert(sizeof(artifact::Header::key) == artifact::hash_bytes);
    for (size_t i = 0; i < options.n_trusted_keys; ++i)
        if (artifact::equal_hash(options.trusted_keys + i * artifact::hash_bytes, key)) return true;
    return options.check_compares_key;
}

bool contains_code(const fb::Plan &plan) {
    for (const fb::Segment *segment : *plan.segments())
        if (segment->kind() == fb::SegmentKind::code || segment->kind() == fb::SegmentKind::modules)
            return true;
    return false;
}

} // namespace

lw_status check_trust_options(const lw_open_options &options) {
    if (!options.check_signature && (needs_signature(options) || options.trusted_keys))
        return fail(LW_INVALID_ARGUMENT, "a signature is required, and check_signature is NULL");
    if (options.n_trusted_keys > 0 && !options.trusted_keys)
        return fail(LW_INVALID_ARGUMENT, "trusted_keys is NULL, and n_trusted_keys is not 0");
    if (options.check_compares_key && options.trusted_keys)
        return fail(LW_INVALID_ARGUMENT,
                    "check_compares_key is 1, and there are trusted_keys: give one of them");
    if (options.check_signature && !options.trusted_keys && !options.check_compares_key)
        return fail(LW_INVALID_ARGUMENT,
                    "check_signature without trusted_keys would accept every signer: list the keys, "
                    "or set check_compares_key where check_signature compares the key");
    return LW_OK;
}

lw_status check_trust(lw_model &model, const lw_open_options &options) {
    const artifact::Header &header = model.view.header();
    const char *name = model.plan().name()->c_str();
    if ((header.flags & artifact::flag_signed) && options.check_signature) {
        if (!accepted_key(options, header.key))
            return fail(LW_UNSIGNED_CODE, {name, " is signed with a key that is not trusted here"});
        if (!options.check_signature(options.signature_context, header.key, header.root, header.signature))
            return fail(LW_UNSIGNED_CODE, {"the signature of ", name, " is not trusted here"});
        model.trusted = true;
    }
    if (!model.trusted &&
        (needs_signature(options) ||
         (!options.allow_unsigned_code && (options.check_signature || contains_code(model.plan())))))
        return fail(LW_UNSIGNED_CODE,
                    {name, " has no signature that is trusted here, and the options ask for one"});
    if (header.version < options.least_version)
        return fail(LW_OLD_VERSION, {name, " has version ", header.version, "; the least that opens here is ",
                                     options.least_version});
    return LW_OK;
}

} // namespace longwave::runtime
