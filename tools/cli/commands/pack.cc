// longwave pack: other weights for a compiled model, without compiling.
#include "packer/pack.h"
#include "formats/package/file_bytes.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/model.h"
#include "tools/cli/model/signature.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <cstdio>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

struct PackFlags {
    std::string shape, weights, output, sign;
    std::vector<std::string> require_key;
    uint64_t version = 0;
    bool no_check = false, json = false;
};

Status pack(const PackFlags &flags) {
    if (flags.version > 0 && flags.sign.empty())
        return Status::usage(
            "--model-version: give --sign too, because a version counts only under a signature");
    LW_TRY(check_output("-o", flags.output, {flags.weights, flags.sign}));
    const double start = now();
    LW_TRY(check_model_file(flags.shape));
    LW_ASSIGN(const std::vector<uint8_t> shape, package::read_file(flags.shape, UINT64_MAX));
    LW_ASSIGN(const packer::Tensors tensors, package::read_safetensors(flags.weights));
    LW_ASSIGN(const std::vector<PublicKey> keys, public_keys("--require-key", flags.require_key));

    lw_open_options open = LW_OPEN_OPTIONS_INIT;
    open.allow_unsigned_code = keys.empty();
    if (!keys.empty()) {
        open.require_signature = 1;
        open.check_signature = signature_matches;
        open.trusted_keys = keys[0].data();
        open.n_trusted_keys = keys.size();
    }
    LW_ASSIGN(packer::Packed packed, packer::pack(shape, tensors, {.open = &open, .check = !flags.no_check}));
    std::string signed_by;
    if (!flags.sign.empty()) {
        LW_ASSIGN(const PublicKey key, sign(packed.bytes, flags.sign, flags.version));
        signed_by = to_hex(key);
    }
    LW_TRY(write_output(flags.output, packed.bytes));
    const double seconds = now() - start;
    const bool checked = packed.vectors > 0 && !flags.no_check;
    if (flags.json) {
        ordered_json line = {{"output", flags.output},
                             {"tensors", packed.tensors},
                             {"golden_vectors", packed.vectors},
                             {"golden_from", packed.vectors ? ordered_json("offline run") : ordered_json()},
                             {"worst_of_limit", checked ? ordered_json(packed.worst) : ordered_json()},
                             {"seconds", seconds}};
        if (!signed_by.empty()) line["signed_by"] = signed_by;
        print_text(stdout, "%s\n", json_line(line).c_str());
        return {};
    }
    print_text(stdout, "weights   %zu tensors\n", packed.tensors);
    if (packed.vectors == 0) print_text(stdout, "golden    none in the file: nothing was checked\n");
    else if (flags.no_check)
        print_text(stdout, "golden    %zu vectors, made by the offline run; run `longwave verify`\n",
                   packed.vectors);
    else
        print_text(stdout,
                   "golden    %zu vectors, made by the offline run; all entries within %.2f of the limit\n",
                   packed.vectors, packed.worst);
    if (!signed_by.empty()) print_text(stdout, "signed    by %s\n", signed_by.c_str());
    print_text(stdout, "wrote     %s  %s · %s\n", flags.output.c_str(),
               bytes_text(packed.bytes.size()).c_str(), seconds_text(seconds).c_str());
    return {};
}

} // namespace

Command add_pack(CommandLine &program) {
    auto flags = std::make_shared<PackFlags>();
    CommandLine *app = program.add_subcommand(
        "pack", "Put other weights into a model that was compiled with --pack, without compiling.");
    app->add_option("shape", flags->shape, "Compiled model (.lw) that gives plan and code")
        ->file(".lw")
        ->required();
    app->add_option("weights", flags->weights,
                    "weights.safetensors with the tensors of the model folder: same names and shapes")
        ->file(".safetensors")
        ->required();
    app->add_option("-o,--output", flags->output, "Compiled model to write")->file(".lw")->required();
    app->add_option("--require-key", flags->require_key,
                    "Take the shape only if this public key, or a key of this file, has signed it")
        ->single()
        ->value("KEY");
    app->add_option("--sign", flags->sign,
                    "Sign the new model with the secret key in this file (longwave keygen)")
        ->file();
    app->add_option("--model-version", flags->version, "With --sign: version of the new model")->value("N");
    app->add_flag("--no-check", flags->no_check, "Do not compare the streams with the offline run");
    app->add_flag("--json", flags->json, "Print one JSON object");
    return {app, [flags] { return pack(*flags); }};
}

} // namespace longwave::cli
