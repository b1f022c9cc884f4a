// What this project relies on inside Halide (schedules/halide). When a new Halide fails one of
// these tests, read the file that the message names before anything else: the kernels may be wrong
// or slow without it.
#include "schedules/halide/internals.h"
#include "schedules/halide/kernel.h"
#include "schedules/halide/lowered.h"
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <unistd.h>

namespace halide_internals_test {

using namespace longwave::schedules;
namespace targets = longwave::targets;
using Halide::Expr;
using Halide::Func;
using Halide::ImageParam;
using Halide::Var;

namespace {

constexpr int checked_version = 21;

struct Folder {
    std::filesystem::path path;
    Folder() {
        std::string name = (std::filesystem::temp_directory_path() / "longwave-halide-XXXXXX").string();
        REQUIRE(mkdtemp(name.data()));
        path = name;
    }
    ~Folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    std::string file(const char *name) const { return (path / name).string(); }
};

std::string text_of(const std::string &path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

class AllocationNames : public Halide::Internal::IRVisitor {
public:
    std::set<std::string> names;

private:
    using Halide::Internal::IRVisitor::visit;
    void visit(const Halide::Internal::Allocate *op) override {
        names.insert(op->name);
        Halide::Internal::IRVisitor::visit(op);
    }
};

std::set<std::string> allocations(const Halide::Module &module) {
    AllocationNames found;
    for (const auto &function : module.functions()) function.body.accept(&found);
    return found.names;
}

const Halide::Target host_target() { return Halide::Target(targets::x86_64_v2().halide); }

} // namespace

TEST_CASE("Halide internals: the version is one that was checked") {
    CHECK_MESSAGE(HALIDE_VERSION_MAJOR == checked_version, "Halide ", HALIDE_VERSION_MAJOR,
                  " was not checked. Run all kernel tests and benchmarks, read schedules/halide/*.h, and "
                  "then change checked_version in this file");
}

TEST_CASE("Halide internals: constants keep their type and value, names are new (halide/internals.h)") {
    const Expr third = constant(1.0 / 3);
    REQUIRE(third.type() == Halide::Float(64));
    const double *value =
        Halide::Internal::as_const_float(third) ? &third.as<Halide::Internal::FloatImm>()->value : nullptr;
    REQUIRE(value);
    CHECK(*value == 1.0 / 3);
    CHECK(constant(Halide::UInt(32), 1 << 29).type() == Halide::UInt(32));
    CHECK(zero(Halide::Float(32)).type() == Halide::Float(32));
    const Var x;
    CHECK(constant_value(simplified(Expr(x) * 0 + 12)) == 12);
    CHECK_FALSE(constant_value(x).has_value());
    CHECK(fresh_name("pass") != fresh_name("pass"));
}

TEST_CASE("Halide internals: a prefetch becomes the instruction (halide/internals.h)") {
    const Folder folder;
    ImageParam in(Halide::Float(32), 1, "in");
    const Var x;
    Func f("f");
    f(x) = in(x + prefetched(in, x * 64));
    f.compile_to_llvm_assembly(folder.file("f.ll"), {in}, "f", host_target());
    CHECK(text_of(folder.file("f.ll")).find("@llvm.prefetch") != std::string::npos);
}

TEST_CASE("Halide internals: a stride is the caller's although it is declared (halide/internals.h)") {
    ImageParam in(Halide::Float(32), 2, "in");
    in.dim(1).set_stride(48);
    const Var x;
    Func f("f");
    f(x) = stride_of_caller(in, 1);
    Halide::Buffer<float> rows(52, 2);
    rows.crop(0, 0, 48);
    in.set(rows);
    const Halide::Target target =
        Halide::get_jit_target_from_environment().with_feature(Halide::Target::NoAsserts);
    const Halide::Buffer<int> found = f.realize({1}, target);
    CHECK(found(0) == 52);
}

TEST_CASE("Halide internals: a loop takes its extent from a buffer (halide/internals.h)") {
    const Folder folder;
    ImageParam mask(Halide::Float(32), 2, "mask"), in(Halide::Float(32), 1, "in");
    const Var x;
    const Halide::RDom turns(0, Halide::select(load_for_extent(mask, 1, 0) > 0.0f, 1, 0), "turns");
    Func f("f");
    f(x) = Halide::undef<float>();
    f(x) = in(x) + Halide::cast<float>(turns);
    const Halide::Module module = Halide::Pipeline(f).compile_to_module({mask, in}, "f", host_target());
    module.compile({{Halide::OutputFileType::stmt, folder.file("f.stmt")}});
    CHECK(text_of(folder.file("f.stmt")).find("mask") != std::string::npos);
}

TEST_CASE("Halide internals: divisions by constants are exact without 64-bit products (halide/lowered.h)") {
    for (const int divisor : {3, 7, 25, 1000, 65535}) {
        const Var x;
        Func n("n"), f("f");
        n(x) = x * 16807 - 1000000000;
        n.compute_root();
        f(x) = Halide::Tuple(n(x) / divisor, n(x) % divisor);
        Halide::Pipeline pipeline(f);
        NarrowDivisions pass;
        pipeline.add_custom_lowering_pass(&pass, {});
        const Halide::Realization found = pipeline.realize({100000});
        const Halide::Buffer<int> quotient = found[0], rest = found[1];
        bool exact = true;
        for (int i = 0; i < 100000; i++) {
            const int64_t value = static_cast<int32_t>(static_cast<uint32_t>(i) * 16807u - 1000000000u);
            int64_t expected = value / divisor;
            if (value % divisor < 0) expected--;
            exact = exact && quotient(i) == expected && rest(i) == value - expected * divisor;
        }
        CHECK_MESSAGE(exact, "divisor ", divisor);
    }
}

TEST_CASE("Halide internals: two Funcs share one allocation of the lowered code (halide/lowered.h)") {
    const nlohmann::json spec = {{"kernel", "probe"}, {"params", nlohmann::json::object()}};
    KernelBuilder builder("probe", spec, *targets::find("x86-64-v2"));
    ImageParam in = builder.input({"in"}, dense({4096}));
    const Var x;
    Func early("early"), late("late"), out("out");
    early(x) = in(x) * 2;
    late(x) = early(x) + 1;
    out(x) = late(4095 - x);
    for (Func f : {early, late}) f.compute_root().bound(x, 0, 4096).store_in(Halide::MemoryType::Heap);
    builder.output(out, dense({4096}));
    builder.share_memory(early, late);
    builder.finish();
    const Halide::Module lowered = builder.pipeline().compile_to_module(
        builder.arguments(), "probe", host_target(), Halide::LinkageType::ExternalPlusArgv);
    CHECK(allocations(lowered).size() == 2);
    CHECK(allocations(with_shared_memory(builder, lowered)).size() == 1);
    CHECK(scratch_bytes("probe", with_shared_memory(builder, lowered)) < 5 * 4096);
    CHECK(scratch_bytes("probe", with_unaligned_arguments(lowered)) > 2 * 4 * 4096);
}

TEST_CASE("Halide internals: a Vulkan pipeline is one dispatch in a module of its own (halide/dispatch.h)") {
    const Folder folder;
    const BuiltKernel kernel = build_kernel(
        nlohmann::json::parse(R"({"kernel":"pointwise","params":{"width":48,"rows":37}})"), "vulkan-16k", {});
    const auto signature =
        nlohmann::json::parse(compile_kernel(kernel, {"probe", folder.file("probe.spv"), ""}));
    CHECK(signature.at("gpu").at("bindings").size() == 2);
    CHECK(signature.at("gpu").at("local").at(0) > 1);
    CHECK(std::filesystem::file_size(folder.file("probe.spv")) > 100);
}

} // namespace halide_internals_test
