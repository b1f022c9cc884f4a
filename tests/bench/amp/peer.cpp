// peer CAPTURE SIZE BLOCK SECONDS: NeuralAmpModelerCore in blocks of float samples, after its prewarm. SIZE chooses a
// model of a container; "-": the file has one. Prints the microseconds of a block as JSON. With IN and OUT as further
// arguments: the samples of a file, with the exact tanh, and no times.
#include <NAM/activations.h>
#include <NAM/dsp.h>
#include <NAM/get_dsp.h>
#include <NAM/slimmable.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

int main(int count, char **values) {
    if (count != 5 && count != 7) return 2;
    const bool times = count == 5;
    using nam::activations::Activation;
    if (times) Activation::enable_fast_tanh(); // as its plug-in plays
    else Activation::disable_fast_tanh();
    const auto model = nam::get_dsp(std::filesystem::path(values[1]));
    const int block = std::atoi(values[3]);
    const double rate = std::max(model->GetExpectedSampleRate(), 0.0);
    model->Reset(rate, block);
    if (std::string(values[2]) != "-")
        dynamic_cast<nam::SlimmableModel &>(*model).SetSlimmableSize(std::atof(values[2]));
    model->Reset(rate, block);
    std::vector<float> samples;
    if (times) {
        for (double at = 0; samples.size() < 48000 * std::atof(values[4]); at += 0.013)
            samples.push_back(static_cast<float>(0.3 * std::sin(at) + 0.1 * std::sin(2.01 * at)));
    } else {
        std::ifstream file(values[5], std::ios::binary);
        const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
        samples.resize(bytes.size() / sizeof(float));
        std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char *>(samples.data()));
    }
    std::vector<NAM_SAMPLE> in(block), out(block);
    NAM_SAMPLE *ins[] = {in.data()}, *outs[] = {out.data()};
    std::vector<double> us;
    for (size_t at = 0; at + block <= samples.size(); at += block) {
        std::copy_n(samples.begin() + static_cast<long>(at), block, in.begin());
        const auto before = std::chrono::steady_clock::now();
        model->process(ins, outs, block);
        us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - before).count());
        std::copy_n(out.begin(), block, samples.begin() + static_cast<long>(at));
    }
    if (times) {
        std::nth_element(us.begin(), us.begin() + static_cast<long>(us.size() / 2), us.end());
        std::printf("{\"us\": %.4f}\n", us[us.size() / 2]);
        return 0;
    }
    std::ofstream(values[6], std::ios::binary)
        .write(reinterpret_cast<const char *>(samples.data()), static_cast<long>(samples.size() * sizeof(float)));
}
