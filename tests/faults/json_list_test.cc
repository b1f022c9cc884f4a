// Each allocation fails while a member becomes a list: the value can still be read and destroyed.
#include "formats/package/json_text.h"
#include "tests/support/faults.h"
#include <cerrno>
#include <doctest/doctest.h>
#include <new>
#include <nlohmann/json.hpp>

namespace json_list_test {

using namespace longwave;
namespace faults = test::faults;

template <class Json> void fail_each_allocation() {
    long k = 0;
    for (long failed = 1; failed > 0; k++) {
        Json value = Json::object(); // destroyed behind the scope: that takes memory, too
        {
            faults::Scope scope;
            scope.fail(faults::allocate, k, ENOMEM);
            try {
                package::list_in(value, "names").push_back(1);
            } catch (const std::bad_alloc &) {
            }
            failed = scope.failed();
        }
        const Json &names = value["names"];
        CHECK((names.is_null() || names.is_array()));
        CHECK(names.size() == (failed ? 0 : 1));
    }
    CHECK(k > 2); // or nothing failed
}

TEST_CASE("a list that gets no memory can be read and destroyed") {
    fail_each_allocation<nlohmann::json>();
    fail_each_allocation<nlohmann::ordered_json>();
}

} // namespace json_list_test
