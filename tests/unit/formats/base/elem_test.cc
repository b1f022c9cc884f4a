// Element types have one list of names and sizes, and it agrees with the schema of the artifact.
#include "formats/artifact/schema.h"
#include <doctest/doctest.h>
#include <string>

namespace elem_test {

using namespace longwave;

TEST_CASE("every element type of the schema has its name and its size") {
    for (const fb::Elem stored : fb::EnumValuesElem()) {
        const Elem elem = artifact::elem_of(stored);
        const std::string name = name_of(elem);
        CHECK(name == fb::EnumNameElem(stored));
        CHECK(8 * bytes_of(elem) == std::stoul(name.substr(1))); // "f16" has 16 bits
    }
    CHECK(std::string(name_of(Elem::f16)) == "f16");
}

} // namespace elem_test
