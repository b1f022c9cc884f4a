#include "formats/artifact/features.h"
#include "targets/target.h"
#include <doctest/doctest.h>

namespace target_test {

using namespace longwave;

TEST_CASE("targets: those of one architecture leave out those of every other") {
    size_t found = 0;
    for (const uint16_t machine : {uint16_t{artifact::machine_x86_64}, uint16_t{artifact::machine_aarch64},
                                   uint16_t{artifact::machine_arm}, uint16_t{artifact::machine_wasm32}}) {
        for (const targets::Target &target : targets::for_machine(machine)) {
            CHECK(target.elf_machine == machine);
            CHECK(targets::find(target.name) != nullptr);
            found++;
        }
    }
    // Nobody asks for these, but by name.
    for (const targets::Target &target : targets::all()) found += !target.loads_code || target.by_name;
    CHECK(found == targets::all().size());
    CHECK(targets::for_machine(artifact::machine_x86_64).size() == 3);
    CHECK(targets::for_machine(0).empty()); // a machine that is none of ours
}

TEST_CASE("targets: the kernel compiler writes assembly where clang makes the objects") {
    CHECK(targets::kernel_suffix("x86-64-v3") == std::string(".o"));
    CHECK(targets::kernel_suffix("cortex-m55") == std::string(".ll"));
    CHECK(targets::kernel_suffix("vulkan-16k") == std::string(".spv"));
    const targets::Target *firmware = targets::find("cortex-m55");
    REQUIRE(firmware != nullptr);
    CHECK(!firmware->loads_code);
    CHECK(!firmware->clang.empty());
}

TEST_CASE("targets: a gpu has what a workgroup may use, and is found apart from processors") {
    for (const targets::Target &target : targets::gpus()) {
        CHECK(target.kind == targets::Kind::gpu);
        CHECK(target.shared_bytes >= 16384);
        CHECK(target.threads == (target.shared_bytes < 32768 ? 256 : 512));
        CHECK(targets::find_gpu(target.name) == &target);
        CHECK(targets::find(target.name) == nullptr);
    }
    CHECK(targets::find_gpu("x86-64-v2") == nullptr);
}

} // namespace target_test
