// longwave keygen and longwave sign: keys for signatures, and signatures for compiled models.
#include "tools/cli/commands/command.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/signature.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include <cstdio>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

struct KeygenFlags {
    std::string file;
    bool json = false;
};

struct SignFlags {
    std::string model, key, output;
    uint64_t version = 0;
    bool json = false;
};

Status keygen(const KeygenFlags &flags) {
    LW_ASSIGN(const PublicKey key, make_keys(flags.file));
    const std::string hex = to_hex(key), file = flags.file + ".pub";
    if (flags.json)
        print_text(stdout, "%s\n",
                   json_line(ordered_json{{"secret", flags.file}, {"public", file}, {"key", hex}}).c_str());
    else
        print_text(stdout, "secret    %s  (keep it secret)\npublic    %s  %s\n", flags.file.c_str(),
                   file.c_str(), hex.c_str());
    return {};
}

Status sign_file(const SignFlags &flags, bool has_version) {
    const std::string output = flags.output.empty() ? flags.model : flags.output;
    LW_TRY(check_output("-o", output, {flags.key}));
    LW_ASSIGN(const ArtifactFile file, ArtifactFile::read(flags.model));
    LW_TRY(file.modules().status());
    const uint64_t version = has_version ? flags.version : file.view().header().version;
    std::vector<uint8_t> bytes = file.bytes();
    LW_ASSIGN(const PublicKey key, sign(bytes, flags.key, version));
    LW_TRY(write_output(output, bytes));
    if (flags.json)
        print_text(
            stdout, "%s\n",
            json_line(ordered_json{{"output", output}, {"signed_by", to_hex(key)}, {"version", version}})
                .c_str());
    else
        print_text(stdout, "signed    by %s, version %ju\nwrote     %s\n", to_hex(key).c_str(),
                   uintmax_t{version}, output.c_str());
    return {};
}

} // namespace

Command add_keygen(CommandLine &program) {
    auto flags = std::make_shared<KeygenFlags>();
    CommandLine *app = program.add_subcommand("keygen", "Make a pair of keys for signing compiled models.");
    app->add_option("file", flags->file,
                    "File for the secret key. The public key goes to FILE.pub. Neither may exist")
        ->file()
        ->required();
    app->add_flag("--json", flags->json, "Print one JSON object");
    return {app, [flags] { return keygen(*flags); }};
}

Command add_sign(CommandLine &program) {
    auto flags = std::make_shared<SignFlags>();
    CommandLine *app = program.add_subcommand(
        "sign", "Sign a compiled model with Ed25519, in place of any signature before.");
    app->add_option("model", flags->model, "Compiled model (.lw)")->file(".lw")->required();
    app->add_option("--key", flags->key, "File with the secret key (longwave keygen)")->file()->required();
    app->add_option("-o,--output", flags->output, "Signed model to write (default: the model itself)")
        ->file(".lw");
    Option *version =
        app->add_option("--model-version", flags->version, "Version of the model (default: that of the file)")
            ->value("N");
    app->add_flag("--json", flags->json, "Print one JSON object");
    return {app, [flags, version] { return sign_file(*flags, version->given()); }};
}

} // namespace longwave::cli
