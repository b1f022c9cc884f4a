// Convolutions with lanes over the phases of a sequence: one kernel makes the spectrum of the taps,
// the next one convolves with it.
#pragma once
#include "schedules/contract/twiddles.h"
#include "tests/kernels/check.h"
#include <memory>

namespace longwave::test {

inline void set_twiddles(Kernel &k, int length) {
    const std::vector<double> table = schedules::polyphase_twiddles(static_cast<uint32_t>(length));
    REQUIRE(static_cast<int>(table.size()) == k["twiddles"].extent(0));
    Tensor &twiddles = k["twiddles"];
    for (size_t i = 0; i < table.size(); i++) twiddles.set({static_cast<int>(i)}, table[i]);
}

// Both kernels as cases. `check` gets the second one after its call, and the taps of the first.
inline void add_phases(std::vector<Case> &cases, int length, std::string of_spectrum,
                       std::string of_convolution, std::function<void(Kernel &, Tensor &)> check) {
    auto taps = std::make_shared<Tensor>(), spectrum = std::make_shared<Tensor>();
    cases.push_back({std::move(of_spectrum), [=](Kernel &k) {
                         set_twiddles(k, length);
                         REQUIRE(k.call() == 0);
                         *taps = k["k"], *spectrum = k["spectrum"];
                     }});
    cases.push_back({std::move(of_convolution), [=](Kernel &k) {
                         set_twiddles(k, length);
                         Tensor &to = k["spectrum"];
                         to.for_each([&](const std::vector<int> &at) { to.set(at, spectrum->get(at)); });
                         uint64_t left = 1;
                         REQUIRE(k.call(&left) == 0);
                         CHECK(left == 0);
                         check(k, *taps);
                     }});
}

} // namespace longwave::test
