// nam_reference CAPTURE BLOCK IN OUT [SIZE]: float samples through NeuralAmpModelerCore in blocks, after its prewarm.
#include "NAM/dsp.h"
#include "NAM/get_dsp.h"
#include "NAM/slimmable.h"
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <vector>

int main(int count, char **values) {
    if (count < 5) return 2;
    const auto model = nam::get_dsp(std::filesystem::path(values[1]));
    const int block = std::atoi(values[2]);
    const double rate = std::max(model->GetExpectedSampleRate(), 0.0);
    model->Reset(rate, block);
    if (count > 5) dynamic_cast<nam::SlimmableModel &>(*model).SetSlimmableSize(std::atof(values[5]));
    model->Reset(rate, block);
    std::ifstream file(values[3], std::ios::binary);
    const std::vector<char> bytes(std::istreambuf_iterator<char>(file), {});
    std::vector<float> samples(bytes.size() / sizeof(float));
    std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char *>(samples.data()));
    std::vector<NAM_SAMPLE> in(block), out(block);
    NAM_SAMPLE *ins[] = {in.data()}, *outs[] = {out.data()};
    for (size_t at = 0; at < samples.size(); at += block) {
        const auto n = static_cast<int>(std::min<size_t>(block, samples.size() - at));
        std::copy_n(samples.begin() + at, n, in.begin());
        model->process(ins, outs, n);
        std::copy_n(out.begin(), n, samples.begin() + at);
    }
    std::ofstream(values[4], std::ios::binary)
        .write(reinterpret_cast<const char *>(samples.data()), samples.size() * sizeof(float));
}
