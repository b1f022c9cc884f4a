#include "compiler/ops/transforms/transforms.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/twiddles.h"
#include <cmath>
#include <fmt/format.h>
#include <numbers>

namespace longwave::ir {

namespace {

using Values = std::vector<std::complex<double>>;

// X of the `n` values from x on, `stride` apart; root[k·(N/n)] is the k-th of n.
void sums_of(const std::complex<double> *x, size_t n, size_t stride, const Values &roots, Values &out) {
    size_t factor = n;
    for (size_t p = 2; p * p <= n; p++)
        if (n % p == 0) {
            factor = p;
            break;
        }
    out.assign(n, 0);
    if (n == 1) {
        out[0] = *x;
        return;
    }
    const size_t part = n / factor, step = roots.size() / n;
    Values inner;
    for (size_t j = 0; j < factor; j++) {
        sums_of(x + j * stride, part, stride * factor, roots, inner);
        for (size_t k = 0; k < n; k++) out[k] += inner[k % part] * roots[j * k % n * step];
    }
}

Values roots_of(size_t n, int sign) {
    Values roots(n);
    for (size_t k = 0; k < n; k++)
        roots[k] =
            std::polar(1.0, sign * 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n));
    return roots;
}

// cos(πk(2t + 1)/2L) = Re(e^{iπk/2L}·e^{2πi·tk/2L}): cosine sums are Fourier sums of twice the
// length.
std::complex<double> quarter_step(size_t k, size_t length) {
    return std::polar(1.0, std::numbers::pi * static_cast<double>(k) / (2.0 * static_cast<double>(length)));
}
// The orthonormal cosine transform is the plain one divided by this.
double cosine_norm(size_t k, size_t length) {
    return std::sqrt((k ? 2.0 : 4.0) * static_cast<double>(length));
}

} // namespace

Values fourier_sums(const Values &x, int sign) {
    Values out;
    sums_of(x.data(), x.size(), 1, roots_of(x.size(), sign), out);
    return out;
}

Expected<SequenceTransform> SequenceTransform::parse(const std::string &name) {
    if (name == "fft") return SequenceTransform{};
    if (name == "fft-o") return SequenceTransform{.orthonormal = true};
    if (name == "dct") return SequenceTransform{.cosine = true};
    if (name == "dctxd-o") return SequenceTransform{.cosine = true, .orthonormal = true};
    return Status::input("attribute transform expected fft, fft-o, dct or dctxd-o, found \"" + name + "\"");
}

SequenceTransform SequenceTransform::of(const Node &node) { return *parse(node.text("transform")); }

double SequenceTransform::forward_scale(uint32_t length) const {
    return cosine ? 1 : orthonormal ? 1 / std::sqrt(static_cast<double>(length)) : 1.0 / length;
}
double SequenceTransform::inverse_scale(uint32_t length) const {
    return cosine || !orthonormal ? 1 : 1 / std::sqrt(static_cast<double>(length));
}

Values SequenceTransform::forward(const std::vector<double> &x) const {
    const size_t length = x.size();
    if (!cosine) {
        Values all = fourier_sums(Values(x.begin(), x.end()), -1);
        all.resize(length / 2 + 1);
        for (auto &bin : all) bin *= forward_scale(static_cast<uint32_t>(length));
        return all;
    }
    Values all(x.begin(), x.end());
    all.resize(2 * length);
    all = fourier_sums(all, 1);
    Values out(length);
    for (size_t k = 0; k < length; k++)
        out[k] = 2 * (quarter_step(k, length) * all[k]).real() / (orthonormal ? cosine_norm(k, length) : 1);
    return out;
}

std::vector<double> SequenceTransform::inverse(const Values &bins, size_t length) const {
    std::vector<double> x(length);
    if (!cosine) {
        Values all(length);
        for (size_t k = 0; k < length; k++) all[k] = 2 * k <= length ? bins[k] : std::conj(bins[length - k]);
        all[0].imag(0);
        if (length % 2 == 0) all[length / 2].imag(0);
        all = fourier_sums(all, 1);
        for (size_t t = 0; t < length; t++)
            x[t] = inverse_scale(static_cast<uint32_t>(length)) * all[t].real();
        return x;
    }
    Values all(2 * length);
    for (size_t k = 0; k < length; k++) {
        const double norm = cosine_norm(k, length);
        all[k] = quarter_step(k, length) * (2 * bins[k].real() / (orthonormal ? norm : norm * norm));
    }
    all = fourier_sums(all, 1);
    for (size_t t = 0; t < length; t++) x[t] = all[t].real();
    return x;
}

Values bins_of(const Operand &rows, uint32_t parts, size_t channel, size_t bins) {
    const size_t channels = rows.width / parts;
    Values out(bins);
    for (size_t k = 0; k < bins; k++)
        out[k] = {rows.row(k)[channel], parts == 2 ? rows.row(k)[channels + channel] : 0.0};
    return out;
}

ChannelTiles::ChannelTiles(uint32_t of)
    : channels(of), padded(schedules::pad(of)), tile(std::min(padded, schedules::lanes)) {}

bool ChannelTiles::plan(KernelCall &call) const {
    const bool all = !call.context.device.tiles;
    if (all) call.one_call();
    else call.channel_tiles(count(), tile * sizeof(float));
    return all;
}

TransformTables transform_tables(KernelCall &call, const SequenceTransform &transform, uint32_t length,
                                 bool inverse) {
    const auto stored = [&](const char *name, const std::vector<float> &values) {
        return call.stored(name, Packed::f32({static_cast<uint32_t>(values.size())}, values));
    };
    const uint64_t bytes = call.context.device.workgroup_bytes;
    const bool passes = call.context.device.has_any_of(devices::gpu_kernels) &&
                        schedules::shared_roots(length, bytes).size > 0;
    TransformTables tables;
    tables.twiddles = passes ? stored("roots", schedules::shared_root_values(length, bytes))
                             : stored("twiddles", schedules::real_twiddles(length));
    if (transform.cosine)
        tables.cosines = stored("cosines", schedules::cosine_roots(length, transform.orthonormal, inverse));
    return tables;
}

Status check_taps(uint32_t taps, uint32_t rows) {
    if (rows <= taps) return Status::ok();
    return Status::input(fmt::format("its static kernel has l_max = {} taps, the sequence {} rows: compile "
                                     "with --length {} or less",
                                     taps, rows, taps));
}

} // namespace longwave::ir
