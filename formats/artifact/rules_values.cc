// V18: values that are computed with.
#include "formats/artifact/geometry.h"
#include "formats/artifact/rules.h"
#include "formats/artifact/text.h"
#include "formats/base/checked.h"

namespace longwave::artifact {

static bool probability(float x) { return x > 0 && x <= 1; } // false for NaN
static bool milliseconds(float x) { return x >= 0 && x <= 3.6e6f; }

// Rows of the stream's output that `ms` of audio bring; 0 where there is no such output.
static double rows_of(const fb::Plan &plan, const fb::Decision &decision, double ms) {
    for (const fb::Entry *entry : *plan.entries()) {
        if (entry->kind() != fb::EntryKind::stream || !decision.output()) continue;
        const double rate = plan.inputs()->Get(entry->inputs()->Get(0)->input())->sample_rate();
        for (const fb::OutputPort *port : *entry->outputs())
            if (equal(*port->name(), *decision.output()))
                return ms / 1000 * rate * port->clock_num() / port->clock_den();
        return 0; // the other streams have the same outputs
    }
    return 0;
}

static Broken decision_values_of(const fb::Plan &plan, const fb::Decision &d) {
    if (!probability(d.default_threshold())) return broken(18, "default threshold is not in (0, 1]");
    for (uint32_t i = 0; i < count(d.thresholds()); ++i)
        if (!probability(d.thresholds()->Get(i)->value()))
            return broken(18, "a threshold is not in (0, 1]: threshold", i);
    if (!probability(d.release())) return broken(18, "release is not in (0, 1]");
    if (!milliseconds(d.smoothing_ms()) || !milliseconds(d.refractory_ms()))
        return broken(18, "smoothing or refractory time is not in [0, 1 hour]");
    if (d.min_count() > cap::block) return broken(18, "min_count: found, limit", d.min_count(), cap::block);
    const double rows = rows_of(plan, d, double{d.smoothing_ms()}) + 1, labels = count(plan.labels());
    if (rows * labels > decision_values)
        return broken(18, "the smoothing window holds too much: labels, values", count(plan.labels()),
                      decision_values);
    return {};
}

// Audio: so many samples per second as its rows bring. `ticks`: of the input, per second; 0: nobody
// says.
static Broken audio_rule(const fb::OutputPort &port, uint64_t ticks, uint32_t index) {
    if (port.sample_rate() > 10000000 || port.lag() > cap::delay ||
        (port.sample_rate() == 0 && port.lag() != 0))
        return broken(18, "sample rate or lag of an output: port, rate", index, port.sample_rate());
    if (port.sample_rate() == 0 || ticks == 0) return {};
    uint64_t samples = 0;
    if (!checked::mul(ticks * port.width(), port.clock_num(), &samples) ||
        samples != uint64_t{port.sample_rate()} * port.clock_den())
        return broken(18, "sample rate of an output does not fit its rows: port, rate", index,
                      port.sample_rate());
    return {};
}

static Broken audio_of(const fb::Plan &plan) {
    uint64_t ticks = 0;
    for (const fb::Input *input : *plan.inputs())
        if (ticks == 0) ticks = input->sample_rate();
    for (const fb::Entry *entry : *plan.entries())
        for (uint32_t i = 0; i < count(entry->outputs()); ++i)
            if (Broken b = audio_rule(*entry->outputs()->Get(i), ticks, i)) return b;
    return {};
}

// No comparison holds for NaN.
static Broken host_scalar_values(const fb::HostScalar &s, uint32_t index) {
    constexpr float most = 3e38f;
    return s.low() >= -most && s.low() <= s.initial() && s.initial() <= s.high() && s.high() <= most
               ? Broken{}
               : broken(18, "not low <= initial <= high within 3e38: scalar of the host", index);
}

Broken v18_values(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    if (!(plan.sample_limit() > 0 && plan.sample_limit() <= 3e38f))
        return broken(18, "sample limit is not in (0, 3e38]");
    if (plan.decision())
        if (Broken b = decision_values_of(plan, *plan.decision())) return b;
    if (plan.error_limit() != 0 && !probability(plan.error_limit()))
        return broken(18, "error limit of the plan is not in [0, 1]");
    for (uint32_t g = 0; g < count(plan.golden()); ++g)
        if (!probability(plan.golden()->Get(g)->error_limit()))
            return broken(18, "error limit of a golden vector is not in (0, 1]: vector", g);
    for (uint32_t i = 0; i < count(plan.scalars()); ++i)
        if (Broken b = host_scalar_values(*plan.scalars()->Get(i), i)) return b;
    for (uint32_t i = 0; i < plan.inputs()->size(); ++i) {
        const fb::Input &input = *plan.inputs()->Get(i);
        if ((input.kind() == fb::InputKind::audio && input.sample_rate() < 1) ||
            input.sample_rate() > 10000000)
            return broken(18, "sample rate of an input: input, rate", i, input.sample_rate());
        if (input.kind() == fb::InputKind::tokens &&
            (input.vocabulary() < 1 || input.vocabulary() > 0x7fffffff || input.width() != 1))
            return broken(18, "vocabulary or width of a token input: input, vocabulary", i,
                          input.vocabulary());
    }
    return audio_of(plan);
}

} // namespace longwave::artifact
