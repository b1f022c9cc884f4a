#include "tests/unit/runtime/vulkan/life.h"
#include "tests/support/options.h"

namespace longwave::test {

Life whole_life(const std::vector<uint8_t> &bytes, const LifeOptions &with) {
    Life life;
    lw_vulkan_options options = through_shim();
    options.allocator = &counting;
    options.cache_folder = with.cache_folder;
    options.fall_back = with.fall_back;
    lw_device *device = nullptr;
    life.status = lw_vulkan_open(&options, &device);
    CHECK((life.status == LW_OK) == (device != nullptr));
    lw_model *model = nullptr;
    lw_runner *runner = nullptr;
    if (life.status == LW_OK) {
        lw_open_options open = on(device);
        open.allocator = &counting;
        life.status = lw_model_open_memory(bytes.data(), bytes.size(), &open, &model);
        CHECK((life.status == LW_OK) == (model != nullptr));
    }
    if (life.status == LW_OK && with.prove) life.status = lw_vulkan_prove(model, 0, nullptr);
    if (life.status == LW_OK) life.status = lw_runner_create(model, &f32_runner, &runner);
    life.made = runner != nullptr;
    for (size_t i = 0; i < 2; ++i)
        if (life.status == LW_OK) life.status = run_audio(runner, noise(i == 0 ? 64 : 31), &life.results[i]);
    life.stats.struct_size = sizeof life.stats;
    if (device) CHECK(lw_vulkan_get_stats(device, &life.stats) == LW_OK);
    lw_runner_destroy(runner);
    lw_model_close(model);
    lw_vulkan_close(device);
    return life;
}

std::vector<uint8_t> model_with_golden(float limit, float wrong) {
    Draft draft = gpu_model();
    const std::vector<float> x = noise(32);
    Results expected;
    {
        const Model cpu(draft.bytes());
        lw_runner *runner = nullptr;
        REQUIRE(lw_runner_create(cpu, &f32_runner, &runner) == LW_OK);
        REQUIRE(run_audio(runner, x, &expected) == LW_OK);
        lw_runner_destroy(runner);
    }
    expected.y[5] += wrong;
    auto vector = std::make_unique<fb::GoldenT>();
    vector->entry = gpu_run;
    vector->error_limit = limit;
    for (int tensor = 0; tensor < 2; ++tensor) {
        auto made = std::make_unique<fb::GoldenTensorT>();
        made->rows = 32;
        made->width = 1;
        made->offset = 128 * static_cast<uint64_t>(tensor);
        (tensor ? vector->outputs : vector->inputs).push_back(std::move(made));
    }
    draft.plan.golden.push_back(std::move(vector));
    std::vector<uint8_t> golden = as_bytes(x);
    const std::vector<uint8_t> y = as_bytes(expected.y);
    golden.insert(golden.end(), y.begin(), y.end());
    draft.segments.push_back({fb::SegmentKind::golden, std::move(golden)});
    return draft.bytes();
}

} // namespace longwave::test
