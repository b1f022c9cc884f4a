// The simulation against what can be counted by hand.
#include "tests/bench/gpu_compilers/simulate.h"
#include <doctest/doctest.h>
#include <spirv-tools/libspirv.hpp>

namespace simulate_test {

using namespace longwave;

namespace {

// A workgroup of 64 threads; `body` has the thread's number as %id and may access %data (a buffer),
// %table (shared) and %own (an array of 4 of a thread).
spirv::Module module_of(const std::string &body) {
    const std::string text = R"(
        OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main "main" %thread
        OpExecutionMode %main LocalSize 64 1 1
        OpName %data "data"
        OpDecorate %thread BuiltIn LocalInvocationId
        OpDecorate %floats ArrayStride 4
        OpDecorate %block BufferBlock
        OpMemberDecorate %block 0 Offset 0
        OpDecorate %data DescriptorSet 0
        OpDecorate %data Binding 0
        %void = OpTypeVoid
        %function = OpTypeFunction %void
        %bool = OpTypeBool
        %uint = OpTypeInt 32 0
        %uint3 = OpTypeVector %uint 3
        %float = OpTypeFloat 32
        %zero = OpConstant %uint 0
        %one = OpConstant %uint 1
        %four = OpConstant %uint 4
        %eight = OpConstant %uint 8
        %thirty_two = OpConstant %uint 32
        %many = OpConstant %uint 4096
        %null = OpConstant %float 0
        %floats = OpTypeRuntimeArray %float
        %block = OpTypeStruct %floats
        %shared_floats = OpTypeArray %float %many
        %own_floats = OpTypeArray %float %four
        %to_input = OpTypePointer Input %uint3
        %to_block = OpTypePointer Uniform %block
        %to_float = OpTypePointer Uniform %float
        %to_shared = OpTypePointer Workgroup %shared_floats
        %to_shared_float = OpTypePointer Workgroup %float
        %to_own = OpTypePointer Function %own_floats
        %to_own_float = OpTypePointer Function %float
        %to_counter = OpTypePointer Function %uint
        %thread = OpVariable %to_input Input
        %data = OpVariable %to_block Uniform
        %table = OpVariable %to_shared Workgroup
        %main = OpFunction %void None %function
        %begin = OpLabel
        %own = OpVariable %to_own Function
        %counter = OpVariable %to_counter Function
        %ids = OpLoad %uint3 %thread
        %id = OpCompositeExtract %uint %ids 0
)" + body + "\nOpReturn\nOpFunctionEnd\n";
    spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_1);
    std::string why;
    tools.SetMessageConsumer([&](spv_message_level_t, const char *, const spv_position_t &,
                                 const char *message) { why = message; });
    spirv::Words words;
    REQUIRE_MESSAGE(tools.Assemble(text, &words), why);
    REQUIRE_MESSAGE(tools.Validate(words), why);
    return spirv::Module::parse(words);
}

bench::Simulation run(const std::string &body) { return bench::simulate(module_of(body), 1 << 16); }

} // namespace

TEST_CASE("gpu simulation: sectors of neighbours, of a stride and of one element for all") {
    const auto sectors = [](const std::string &index) {
        return run(index + R"(
            %at = OpAccessChain %to_float %data %zero %index
            OpStore %at %null)")
            .buffers.at("store data");
    };
    const auto neighbours = sectors("%index = OpCopyObject %uint %id"),
               apart = sectors("%index = OpIMul %uint %id %eight"),
               same = sectors("%index = OpCopyObject %uint %eight");
    for (const auto &buffer : {neighbours, apart, same}) CHECK(buffer.requests == 2); // of two warps
    CHECK(neighbours.sectors == 8); // 32 lanes × 4 bytes / 32 bytes
    CHECK(apart.sectors == 64);     // every lane its own
    CHECK(same.sectors == 2);
    CHECK(neighbours.sectors_per_4_bytes() == 4);
}

TEST_CASE("gpu simulation: conflicts of banks") {
    const auto wavefronts = [](const char *stride) {
        const bench::Simulation made = run(std::string("%index = OpIMul %uint %id ") + stride + R"(
            %at = OpAccessChain %to_shared_float %table %index
            OpStore %at %null)");
        CHECK(made.shared_requests == 2);
        CHECK(made.shared_ideal == 2);
        return made.shared_wavefronts;
    };
    CHECK(wavefronts("%one") == 2);
    CHECK(wavefronts("%eight") == 16);      // 32 lanes in 4 banks: 8 in turn
    CHECK(wavefronts("%thirty_two") == 64); // all in one bank
    CHECK(wavefronts("%zero") == 2);        // one word for all
}

TEST_CASE("gpu simulation: a loop that lanes leave at different iterations, and a limit") {
    // Lane i iterates i times and stores once an iteration: 0 + 1 + … + 63 elements.
    const std::string loop = R"(
        OpStore %counter %zero
        OpBranch %head
        %head = OpLabel
        %now = OpLoad %uint %counter
        OpLoopMerge %end %next None
        OpBranch %test
        %test = OpLabel
        %goes = OpULessThan %bool %now %id
        OpBranchConditional %goes %body %end
        %body = OpLabel
        %at = OpAccessChain %to_float %data %zero %now
        OpStore %at %null
        OpBranch %next
        %next = OpLabel
        %more = OpIAdd %uint %now %one
        OpStore %counter %more
        OpBranch %head
        %end = OpLabel)";
    const bench::Simulation made = run(loop);
    CHECK(made.complete);
    const bench::BufferRequests &stores = made.buffers.at("store data");
    CHECK(stores.elements == 63 * 64 / 2);
    CHECK(stores.requests == 31 + 63); // iterations in which a lane of the warp is left
    CHECK(!bench::simulate(module_of(loop), 100).complete);
}

TEST_CASE("gpu simulation: a private array is indexed when an index is not a constant") {
    const auto indexed = [](const char *index) {
        return bench::facts_of(module_of(std::string("%at = OpAccessChain %to_own_float %own ") + index +
                                         "\nOpStore %at %null"))
            .indexed_private;
    };
    CHECK(!indexed("%one"));
    CHECK(indexed("%id"));
    CHECK(!bench::facts_of(module_of("")).float64);
}

} // namespace simulate_test
