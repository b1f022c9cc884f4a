#include "tests/conformance/keyword_model.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <filesystem>

namespace longwave::test {

std::string compiled(const char *name) {
    const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
    if (!std::filesystem::exists(path)) {
        std::printf("SKIPPED: %s is missing; ctest makes it: tools/test -R keyword_model\n",
                    path.filename().c_str());
        std::exit(77);
    }
    return path.string();
}

ModelHandle open_variant(const std::string &path, const char *variant) {
    lw_open_options options{};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = 1;
    options.variant = variant;
    lw_model *model = nullptr;
    const lw_status status = lw_model_open(path.c_str(), &options, &model);
    if (status == LW_NO_VARIANT) std::printf("%s  not tried: this CPU cannot run it\n", variant);
    else REQUIRE_MESSAGE(status == LW_OK, lw_last_error());
    return {model, lw_model_close};
}

double Talk::uniform() { // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

std::vector<float> Talk::next(size_t n) {
    std::vector<float> x(n);
    for (float &sample : x) {
        if (left_ == 0) { // the next sound: 30 to 230 ms, one in three a pause
            left_ = 480 + static_cast<size_t>(3200 * uniform());
            loudness_ = uniform() < 0.33 ? 0 : 0.02 + 0.4 * uniform() * uniform();
            pitch_ = (80 + 170 * uniform()) / rate;
            voiced_ = uniform() < 0.7 ? 1 : 0;
            formant_ = 2 * std::cos(6.2831853 * (300 + 2700 * uniform()) / rate);
        }
        left_--;
        level_ += 0.004 * (loudness_ - level_);
        phase_ += pitch_;
        phase_ -= std::floor(phase_);
        const double noise = uniform() - 0.5, source = voiced_ > 0 ? phase_ - 0.5 + 0.05 * noise : noise;
        const double y = source + 0.95 * formant_ * a_ - 0.9025 * b_; // one resonance
        b_ = a_;
        a_ = y;
        sample = static_cast<float>(0.2 * level_ * y + 1e-4 * noise);
    }
    return x;
}

} // namespace longwave::test
