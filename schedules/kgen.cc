// longwave-kgen: one kernel specification in, one object file and its signature out. One process per kernel,
// because names and therefore bytes of Halide's output depend on what the same process compiled before.
#include "schedules/lowered.h"
#include "schedules/registry.h"
#include <cstdio>
#include <fstream>
#include <iostream>

using namespace longwave;

namespace {

struct Options {
    std::string spec, target, symbol = "kernel", out, statement, structures;
};

int usage(const std::string &problem) {
    std::cerr << "longwave-kgen: " << problem
              << "\nusage: longwave-kgen --spec JSON --target NAME [--symbol NAME] -o OUT.o [--statement "
                 "OUT.stmt] [--structures FILE.json]\n";
    return 2;
}

// Returns an empty text or what is wrong.
std::string parse(int argc, char **argv, Options &options) {
    for (int i = 1; i < argc; i++) {
        const std::string flag = argv[i];
        std::string *value = flag == "--spec"         ? &options.spec
                             : flag == "--target"     ? &options.target
                             : flag == "--symbol"     ? &options.symbol
                             : flag == "-o"           ? &options.out
                             : flag == "--statement"  ? &options.statement
                             : flag == "--structures" ? &options.structures
                                                      : nullptr;
        if (!value) return "unknown option '" + flag + "'";
        if (++i == argc) return "option '" + flag + "' needs a value";
        *value = argv[i];
    }
    if (options.spec.empty() || options.target.empty() || options.out.empty())
        return "--spec, --target and -o are needed";
    if (options.out.size() < 3 || options.out.substr(options.out.size() - 2) != ".o")
        return "the output must be named *.o";
    return {};
}

void compile(const Options &options) {
    const nlohmann::json spec = nlohmann::json::parse(options.spec);
    const targets::Target *target = targets::find(options.target);
    if (!target) throw schedules::SpecError("unknown target '" + options.target + "'");
    if (!spec.is_object() || !spec.contains("kernel") || !spec.at("kernel").is_string())
        throw schedules::SpecError("a specification is an object with a text 'kernel'");
    const std::string name = spec.at("kernel");
    const schedules::BuildFunction build = schedules::find_kernel(name);
    if (!build) throw schedules::SpecError("unknown kernel '" + name + "'");

    schedules::KernelBuilder builder(name, spec, *target);
    if (!options.structures.empty()) { // for measuring other values than schedules/long_conv/ has
        std::ifstream file(options.structures);
        builder.structures = nlohmann::json::parse(file);
    }
    build(builder);
    builder.finish();

    const Halide::Module module = schedules::with_unaligned_arguments(builder.pipeline().compile_to_module(
        builder.arguments(), options.symbol, Halide::Target(target->halide),
        Halide::LinkageType::ExternalPlusArgv));
    const uint64_t scratch = schedules::scratch_bytes(name, module);
    std::map<Halide::OutputFileType, std::string> files = {{Halide::OutputFileType::object, options.out}};
    if (!options.statement.empty()) files[Halide::OutputFileType::stmt] = options.statement;
    module.compile(files);

    std::ofstream json(options.out.substr(0, options.out.size() - 2) + ".json");
    json << schedules::signature_json(builder, scratch) << '\n';
    if (!json.flush()) throw schedules::SpecError("cannot write the signature beside " + options.out);
}

} // namespace

int main(int argc, char **argv) {
    Options options;
    if (const std::string problem = parse(argc, argv, options); !problem.empty()) return usage(problem);
    auto fail = [](const std::string &kind, std::string text) {
        for (char &c : text)
            if (c == '\n') c = ' ';
        std::cerr << "longwave-kgen: " << kind << text << '\n';
        return 1;
    };
    try {
        compile(options);
        return 0;
    } catch (const schedules::SpecError &e) {
        return fail("", e.what());
    } catch (const nlohmann::json::exception &e) {
        return fail("specification: ", e.what());
    } catch (const Halide::Error &e) { // not a std::exception
        return fail("Halide: ", e.what());
    } catch (const std::exception &e) {
        return fail("", e.what());
    }
}
