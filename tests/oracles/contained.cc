#include "tests/oracles/contained.h"
#include "compiler/base/temporary_folder.h"
#include "compiler/driver/compile.h"
#include "formats/package/file_bytes.h"
#include "tools/cli/commands/compile_static.h"
#include "tools/cli/output/text.h"
#include "tools/cli/remote/process_channel.h"

namespace longwave::oracles {

Expected<cli::Model> open_contained(const package::Package &package, compiler::Options options,
                                    const std::string &target, const std::string &command) {
    options.targets = {target};
    LW_ASSIGN(const compiler::TemporaryFolder folder, compiler::TemporaryFolder::create());
    const std::string path = (folder.path() / "model.a").string();
    cli::CompileFlags flags;
    flags.emit = "static";
    cli::StaticLibrary library(flags, options, path);
    LW_ASSIGN(compiler::Compiled compiled, compiler::compile(package, library.options()));
    const std::vector<uint8_t> artifact = compiled.artifact;
    LW_TRY(library.prepare(compiled.artifact));
    nlohmann::ordered_json report = nlohmann::ordered_json::parse(compiled.report);
    LW_TRY(library.write(compiled.artifact, report));
    std::vector<std::string> words;
    for (const std::string &word : cli::split(command, ' '))
        if (!word.empty()) words.push_back(word);
    words.push_back(path);
    LW_ASSIGN(std::unique_ptr<cli::Channel> channel, cli::ProcessChannel::start(std::move(words), 600));
    std::vector<uint8_t> weights;
    if (!library.weights_path().empty()) {
        LW_ASSIGN(weights, package::read_file(library.weights_path(), uint64_t{1} << 32));
    }
    return cli::Model::open(artifact, "", std::make_shared<cli::Remote>(std::move(channel)), &weights);
}

} // namespace longwave::oracles
