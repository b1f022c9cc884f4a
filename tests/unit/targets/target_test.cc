#include "formats/artifact/features.h"
#include "targets/target.h"
#include <doctest/doctest.h>

using namespace longwave;

TEST_CASE("targets: those of one architecture leave out those of every other") {
    size_t found = 0;
    for (const uint16_t machine : {uint16_t{artifact::machine_x86_64}, uint16_t{artifact::machine_aarch64},
                                   uint16_t{artifact::machine_arm}}) {
        for (const targets::Target &target : targets::for_machine(machine)) {
            CHECK(target.elf_machine == machine);
            CHECK(targets::find(target.name) != nullptr);
            found++;
        }
    }
    CHECK(found == targets::all().size());
    CHECK(targets::for_machine(artifact::machine_x86_64).size() == 3);
    CHECK(targets::for_machine(0).empty()); // a machine that is none of ours
}

TEST_CASE("targets: a gpu has what a workgroup may use, and is found apart from processors") {
    for (const targets::Target &target : targets::gpus()) {
        CHECK(target.kind == targets::Kind::gpu);
        CHECK(target.shared_bytes >= 16384);
        CHECK(target.threads == 256);
        CHECK(targets::find_gpu(target.name) == &target);
        CHECK(targets::find(target.name) == nullptr);
    }
    CHECK(targets::find_gpu("x86-64-v2") == nullptr);
}
