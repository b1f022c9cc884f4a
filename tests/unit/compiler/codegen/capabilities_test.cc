// Asking which kernels a device has: one start of the kernel compiler for all of them, and none for
// answers that an earlier compile kept. A script stands for longwave-kgen.
#include "compiler/codegen/capabilities.h"
#include "tests/unit/compiler/codegen/kernel_folder.h"

namespace capabilities_test {

using namespace longwave;
using namespace longwave::test;

namespace {

const std::vector<std::string> specs{R"({"kernel":"a"})", R"({"kernel":"b"})"};

// A kernel compiler that answers every query with this text.
void write_answers(const KernelFolder &folder, const std::string &answers) {
    std::ofstream script(folder.kgen());
    script << "#!/bin/sh\n"
           << "case $1 in --stay) exit ;; --versions) echo '{\"cpu\":{},\"gpu\":{},\"of\":\""
           << answers.size() << "\"}'; exit ;; esac\n"
           << "echo \"$1\" >> '" << (folder.path / "runs").string() << "'\n"
           << "printf '%s' '" << answers << "' > \"$4\"\n";
    script.close();
    fs::permissions(folder.kgen(), fs::perms::owner_all);
}

std::string supported(const std::string &signature = plain_signature) {
    return R"({"supported":true,"version":"1","signature":)" + signature + "}";
}

Status query(compiler::Capabilities &known, const KernelFolder &folder) {
    return compiler::query_capabilities(known, specs, *devices::find(devices::all(), "vulkan-32k"),
                                        {.kgen = folder.kgen(), .folder = folder.cache.string()});
}

} // namespace

TEST_CASE("capabilities: one start for all kernels, and none for those that were asked before") {
    const KernelFolder folder;
    write_answers(folder, "[" + supported() + R"(,{"supported":false,"reason":"too wide"}])");
    compiler::Capabilities known;
    const Status status = query(known, folder);
    REQUIRE_MESSAGE(status, status.message());
    CHECK(folder.runs() == 1);
    CHECK(known.signatures.at(specs[0]).args.size() == 1);
    CHECK(known.refused.at(specs[1]) == "too wide");
    CHECK(query(known, folder));  // all answers are known
    compiler::Capabilities later; // another compile reads them from the cache
    REQUIRE(query(later, folder));
    CHECK(folder.runs() == 1);
    CHECK(later.signatures.contains(specs[0]));
    CHECK(later.refused == known.refused);
}

TEST_CASE("capabilities: another kernel compiler is asked again") {
    const KernelFolder folder;
    write_answers(folder, "[" + supported() + "," + supported() + "]");
    compiler::Capabilities known, later;
    REQUIRE(query(known, folder));
    write_answers(folder, "[" + supported() + R"(,{"supported":false,"reason":"new limit"}])");
    REQUIRE(query(later, folder));
    CHECK(folder.runs() == 2);
    CHECK(later.refused.at(specs[1]) == "new limit");
}

TEST_CASE("capabilities: answers that are not of the format are internal errors") {
    for (const std::string &answers :
         {std::string("[]"), std::string("not JSON"), R"([{"supported":false},{}])" + std::string(),
          "[" + supported("{}") + "," + supported() + "]"}) {
        CAPTURE(answers);
        const KernelFolder folder;
        write_answers(folder, answers);
        compiler::Capabilities known;
        const Status status = query(known, folder);
        REQUIRE(!status);
        CHECK(status.fault() == Fault::internal);
    }
}

TEST_CASE("capabilities: without a kernel compiler the message says which program is missing") {
    const KernelFolder folder;
    fs::remove(folder.kgen());
    compiler::Capabilities known;
    const Status status = query(known, folder);
    REQUIRE(!status);
    CHECK(status.fault() == Fault::device);
    CHECK(status.message().find("longwave-kgen") != std::string::npos);
}

} // namespace capabilities_test
