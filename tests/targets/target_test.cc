#include "formats/artifact/features.h"
#include "targets/target.h"
#include <doctest/doctest.h>

using namespace longwave;

TEST_CASE("targets: those of one architecture leave out those of every other") {
    size_t found = 0;
    for (const uint16_t machine : {uint16_t{artifact::machine_x86_64}, uint16_t{artifact::machine_aarch64}}) {
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
