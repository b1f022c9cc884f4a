// Rules about the plan's numbers and names, before anything is said about memory.
#include "formats/artifact/abi.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/rules.h"
#include "formats/artifact/text.h"

namespace longwave::artifact {

// ---- V6: caps ------------------------------------------------------------------------------------------------------------------------------------

static Broken caps_of_entry(const fb::Entry &entry, uint32_t e) {
    if (entry.steps()->size() > cap::items) return broken(6, "steps of an entry: entry, steps", e, entry.steps()->size());
    if (count(entry.inputs()) > cap::ports || count(entry.outputs()) > cap::ports)
        return broken(6, "ports of an entry: inputs, outputs", count(entry.inputs()), count(entry.outputs()));
    if (entry.period() < 1 || entry.period() > cap::period) return broken(6, "period of an entry: entry, period", e, entry.period());
    const bool ticks = entry.kind() != fb::EntryKind::prepare;
    if (ticks && (entry.block() < 1 || entry.block() > cap::block)) return broken(6, "block of an entry: entry, ticks", e, entry.block());
    for (uint32_t i = 0; i < count(entry.outputs()); ++i)
        if (entry.outputs()->Get(i)->delay() > cap::delay) return broken(6, "delay of an output: port, ticks", i, entry.outputs()->Get(i)->delay());
    uint64_t visits = 0; // a plan of few bytes must not run for hours
    for (uint32_t i = 0; i < entry.steps()->size(); ++i) {
        const fb::Step &step = *entry.steps()->Get(i);
        if (step.tiles() < 1 || step.tiles() > cap::tiles) return broken(6, "tiles of a step: step, tiles", i, step.tiles());
        visits += step.tiles();
        if (visits > cap::visits) return broken(6, "tiles of all steps of an entry: entry, tiles", e, visits);
        if (count(step.args()) > cap::kernel_args) return broken(6, "arguments of a step: step, arguments", i, count(step.args()));
    }
    return {};
}

Broken v6_caps(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    if (plan.kernels()->size() > cap::items) return broken(6, "kernels: found, limit", plan.kernels()->size(), cap::items);
    if (plan.variants()->size() > cap::variants) return broken(6, "code variants: found, limit", plan.variants()->size(), cap::variants);
    if (plan.segments()->size() > cap::segments) return broken(6, "segments: found, limit", plan.segments()->size(), cap::segments);
    if (plan.entries()->size() < 1 || plan.entries()->size() > cap::entries)
        return broken(6, "entries: found, limit", plan.entries()->size(), cap::entries);
    if (plan.inputs()->size() < 1 || plan.inputs()->size() > cap::ports) return broken(6, "inputs: found, limit", plan.inputs()->size(), cap::ports);
    if (count(plan.labels()) > cap::items) return broken(6, "labels: found, limit", count(plan.labels()), cap::items);
    if (count(plan.golden()) > cap::entries) return broken(6, "golden vectors: found, limit", count(plan.golden()), cap::entries);
    for (uint32_t i = 0; i < plan.segments()->size(); ++i)
        if (plan.segments()->Get(i)->hash()->size() != hash_bytes)
            return broken(6, "bytes of a segment's hash: segment, bytes", i, plan.segments()->Get(i)->hash()->size());
    uint64_t text = 0; // tables may share a string; the work below may not grow with the sharing
    for (uint32_t k = 0; k < plan.kernels()->size(); ++k) {
        const fb::Kernel &kernel = *plan.kernels()->Get(k);
        text += kernel.spec()->size();
        if (text > s.header->plan_bytes) return broken(6, "kernel specifications are longer than the plan: kernel, bytes", k, text);
        if (kernel.args()->size() > cap::kernel_args) return broken(6, "arguments of a kernel: kernel, arguments", k, kernel.args()->size());
        for (uint32_t a = 0; a < kernel.args()->size(); ++a) {
            const auto *dims = kernel.args()->Get(a)->dims();
            if (count(dims) > cap::rank) return broken(6, "rank of an argument: kernel, rank", k, count(dims));
            for (uint32_t d = 0; d < count(dims); ++d)
                if (dims->Get(d)->extent() < 1 || dims->Get(d)->extent() > cap::extent)
                    return broken(6, "extent of an argument: kernel, extent", k, dims->Get(d)->extent());
        }
    }
    uint32_t prepares = 0, streams = 0;
    for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        prepares += entry.kind() == fb::EntryKind::prepare;
        streams += entry.kind() == fb::EntryKind::stream;
        if (Broken b = caps_of_entry(entry, e)) return b;
    }
    if (prepares > 1 || streams > cap::streams)
        return broken(6, "too many entries of a kind: prepare, stream", prepares, streams);
    for (uint32_t i = 0; i < plan.inputs()->size(); ++i) {
        const fb::Input &input = *plan.inputs()->Get(i);
        if (input.width() < 1 || input.width() > cap::extent) return broken(6, "width of an input: input, width", i, input.width());
    }
    return {};
}

// ---- V7: sizes by checked arithmetic -------------------------------------------------------------------------------------------------------------

Broken v7_sizes(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    if (plan.state_bytes() > cap::space) return broken(7, "state bytes: found", plan.state_bytes());
    if (plan.weights_bytes() > cap::space || plan.derived_bytes() > cap::space)
        return broken(7, "weights or derived bytes: found", plan.weights_bytes(), plan.derived_bytes());
    for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        if (entry.cache_bytes() > cap::space || entry.arena_bytes() > cap::space)
            return broken(7, "cache or arena bytes: found", entry.cache_bytes(), entry.arena_bytes());
    }
    for (uint32_t k = 0; k < plan.kernels()->size(); ++k)
        for (uint32_t a = 0; a < plan.kernels()->Get(k)->args()->size(); ++a) {
            const fb::KernelArg &arg = *plan.kernels()->Get(k)->args()->Get(a);
            uint64_t elements = 1, bytes;
            for (uint32_t d = 0; d < count(arg.dims()); ++d)
                if (!checked::mul(elements, arg.dims()->Get(d)->extent(), &elements))
                    return broken(7, "elements of an argument overflow: kernel, argument", k, a);
            if (arg.kind() == fb::ArgKind::scalar) continue;
            if (!span_bytes(arg, &bytes) || elements > cap::elements || bytes > cap::space)
                return broken(7, "size of an argument: kernel, argument", k, a);
        }
    for (uint32_t v = 0; v < plan.variants()->size(); ++v) {
        const auto &scratch = *plan.variants()->Get(v)->scratch();
        for (uint32_t k = 0; k < scratch.size(); ++k)
            if (scratch.Get(k) > cap::space) return broken(7, "scratch of a kernel: variant, kernel", v, k);
    }
    return {};
}

// ---- V11: every kernel is there, and is the one the plan was made for ----------------------------------------------------------------------------

Broken v11_kernels(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    const uint32_t kernels = plan.kernels()->size();
    for (uint32_t k = 0; k < kernels; ++k)
        if (plan.kernels()->Get(k)->abi() != kernel_abi(*plan.kernels()->Get(k)))
            return broken(11, "the ABI hash is not that of the argument list: kernel, hash", k, plan.kernels()->Get(k)->abi());
    for (uint32_t v = 0; v < plan.variants()->size(); ++v) {
        const fb::CodeVariant &variant = *plan.variants()->Get(v);
        if (variant.entry()->size() != kernels) return broken(11, "kernels of a code variant: found, expected", variant.entry()->size(), kernels);
        if (variant.scratch()->size() != kernels)
            return broken(11, "scratch sizes of a code variant: found, expected", variant.scratch()->size(), kernels);
    }
    return {};
}

// ---- V13: indices and enumerations ---------------------------------------------------------------------------------------------------------------

static Broken indices_of_entry(const fb::Plan &plan, const fb::Entry &entry, uint32_t e) {
    if (entry.kind() > fb::EntryKind::stream) return broken(13, "unknown kind of entry: entry, kind", e, static_cast<uint64_t>(entry.kind()));
    for (uint32_t i = 0; i < count(entry.inputs()); ++i)
        if (entry.inputs()->Get(i)->input() >= plan.inputs()->size())
            return broken(13, "an input port names no input: port, input", i, entry.inputs()->Get(i)->input());
    for (uint32_t i = 0; i < count(entry.outputs()); ++i) {
        const fb::OutputPort &port = *entry.outputs()->Get(i);
        if (!port.place() || port.place()->space() > fb::Space::MAX) return broken(13, "place of an output: port", i);
    }
    for (uint32_t i = 0; i < count(entry.inputs()); ++i)
        if (!entry.inputs()->Get(i)->place() || entry.inputs()->Get(i)->place()->space() > fb::Space::MAX)
            return broken(13, "place of an input: port", i);
    for (uint32_t i = 0; i < entry.steps()->size(); ++i) {
        const fb::Step &step = *entry.steps()->Get(i);
        if (step.kind() > fb::StepKind::zero_tail) return broken(13, "unknown kind of step: step, kind", i, static_cast<uint64_t>(step.kind()));
        if (step.kind() == fb::StepKind::call && step.kernel() >= plan.kernels()->size())
            return broken(13, "a step names no kernel: step, kernel", i, step.kernel());
        for (uint32_t a = 0; a < count(step.args()); ++a) {
            const fb::Binding &binding = *step.args()->Get(a);
            if (binding.place() && binding.place()->space() > fb::Space::MAX)
                return broken(13, "unknown space of an argument: step, argument", i, a);
            if (binding.scalar() && binding.scalar()->kind() > fb::ScalarKind::MAX)
                return broken(13, "unknown kind of scalar: step, argument", i, a);
            if (binding.scalar() && binding.scalar()->kind() == fb::ScalarKind::length && binding.scalar()->add() >= count(entry.inputs()))
                return broken(13, "a length names no input: step, argument", i, a);
        }
    }
    return {};
}

static bool same_outputs(const fb::Entry &a, const fb::Entry &b) {
    if (count(a.outputs()) != count(b.outputs()) || count(a.inputs()) != count(b.inputs())) return false;
    for (uint32_t i = 0; i < count(a.inputs()); ++i)
        if (a.inputs()->Get(i)->input() != b.inputs()->Get(i)->input()) return false;
    for (uint32_t i = 0; i < count(a.outputs()); ++i) {
        const fb::OutputPort &p = *a.outputs()->Get(i), &q = *b.outputs()->Get(i);
        if (!equal(*p.name(), *q.name()) || p.width() != q.width() || p.clock_num() != q.clock_num() || p.clock_den() != q.clock_den()) return false;
    }
    return true;
}

static Broken indices_of_decision(const fb::Plan &plan) {
    const fb::Decision *decision = plan.decision();
    if (!decision) return {};
    const uint32_t labels = count(plan.labels());
    for (uint32_t i = 0; i < count(decision->ignore()); ++i)
        if (decision->ignore()->Get(i) >= labels)
            return broken(13, "an ignored label is not there: label, labels", decision->ignore()->Get(i), labels);
    for (uint32_t i = 0; i < count(decision->thresholds()); ++i)
        if (decision->thresholds()->Get(i)->label() >= labels)
            return broken(13, "a threshold's label is not there: label, labels", decision->thresholds()->Get(i)->label(), labels);
    return {};
}

Broken v13_indices(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    for (uint32_t v = 0; v < plan.variants()->size(); ++v) {
        const uint32_t segment = plan.variants()->Get(v)->segment();
        if (segment >= plan.segments()->size() || plan.segments()->Get(segment)->kind() != fb::SegmentKind::code)
            return broken(13, "a code variant names no code segment: variant, segment", v, segment);
    }
    for (uint32_t k = 0; k < plan.kernels()->size(); ++k)
        for (uint32_t a = 0; a < plan.kernels()->Get(k)->args()->size(); ++a) {
            const fb::KernelArg &arg = *plan.kernels()->Get(k)->args()->Get(a);
            if (arg.kind() > fb::ArgKind::MAX || arg.elem() > fb::Elem::MAX)
                return broken(13, "unknown kind or type of an argument: kernel, argument", k, a);
        }
    for (uint32_t i = 0; i < plan.inputs()->size(); ++i)
        if (plan.inputs()->Get(i)->kind() > fb::InputKind::tokens) return broken(13, "unknown kind of input: input", i);
    const fb::Entry *first_run = nullptr;
    for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        if (Broken b = indices_of_entry(plan, entry, e)) return b;
        if (entry.kind() != fb::EntryKind::run) continue;
        if (first_run && !same_outputs(*first_run, entry)) return broken(13, "two run entries differ in inputs or outputs: entry", e);
        if (!first_run) first_run = &entry;
    }
    for (uint32_t g = 0; g < count(plan.golden()); ++g) {
        const fb::Golden &golden = *plan.golden()->Get(g);
        if (golden.entry() >= plan.entries()->size()) return broken(13, "a golden vector names no entry: vector, entry", g, golden.entry());
        const fb::Entry &entry = *plan.entries()->Get(golden.entry());
        if (count(golden.inputs()) != count(entry.inputs()))
            return broken(13, "inputs of a golden vector: vector, inputs", g, count(golden.inputs()));
        if (count(golden.outputs()) > cap::ports) return broken(13, "outputs of a golden vector: vector, outputs", g, count(golden.outputs()));
        for (uint32_t t = 0; t < count(golden.inputs()); ++t) {
            const fb::GoldenTensor &tensor = *golden.inputs()->Get(t);
            if (tensor.port() != t) return broken(13, "golden inputs are not in the ports' order: vector, tensor", g, t);
            if (tensor.width() != plan.inputs()->Get(entry.inputs()->Get(t)->input())->width())
                return broken(13, "width of a golden input: vector, tensor", g, t);
        }
        for (uint32_t t = 0; t < count(golden.outputs()); ++t) {
            const fb::GoldenTensor &tensor = *golden.outputs()->Get(t);
            if (tensor.port() >= count(entry.outputs())) return broken(13, "a golden output names no port: vector, tensor", g, t);
            if (tensor.width() != entry.outputs()->Get(tensor.port())->width()) return broken(13, "width of a golden output: vector, tensor", g, t);
        }
    }
    return indices_of_decision(plan);
}

// ---- V15: state ----------------------------------------------------------------------------------------------------------------------------------

Broken v15_state(const Subject &s) {
    for (uint32_t e = 0; e < s.plan->entries()->size(); ++e) {
        const fb::Entry &entry = *s.plan->entries()->Get(e);
        if (entry.kind() != fb::EntryKind::stream && entry.cache_bytes() != 0)
            return broken(15, "only a stream has a cache: entry, bytes", e, entry.cache_bytes());
        if (entry.cache_bytes() % segment_alignment != 0 || entry.arena_bytes() % segment_alignment != 0)
            return broken(15, "cache and arena are whole multiples of 64: cache, arena", entry.cache_bytes(),
                          entry.arena_bytes());
    }
    return {};
}

// ---- V16: names ----------------------------------------------------------------------------------------------------------------------------------

enum class Text { name, path_like, document };

// Length of the well-formed UTF-8 sequence at p (no surrogates, no overlong forms, at most U+10FFFF), or 0.
static uint32_t utf8(const uint8_t *p, uint64_t left) {
    auto tail = [&](uint32_t i) { return i < left && (p[i] & 0xc0) == 0x80; };
    if (p[0] < 0x80) return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf) return tail(1) ? 2 : 0;
    if (p[0] >= 0xe0 && p[0] <= 0xef) {
        if (!tail(1) || !tail(2)) return 0;
        return (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ? 0 : 3;
    }
    if (p[0] >= 0xf0 && p[0] <= 0xf4) {
        if (!tail(1) || !tail(2) || !tail(3)) return 0;
        return (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f) ? 0 : 4;
    }
    return 0;
}

static Broken text(const flatbuffers::String *string, Text kind, const char *what, uint64_t index) {
    if (!string) return {};
    const uint8_t *p = reinterpret_cast<const uint8_t *>(string->c_str());
    const uint64_t size = string->size();
    if (kind != Text::document && size > cap::name) return broken(16, what, index, size);
    for (uint64_t i = 0; i < size;) {
        const uint32_t n = utf8(p + i, size - i);
        const bool layout = kind == Text::document && (p[i] == '\n' || p[i] == '\t');
        const bool control = (p[i] < 0x20 && !layout) || p[i] == 0x7f;
        const bool path = (kind == Text::name && p[i] == '/') || (kind != Text::document && p[i] == '\\');
        if (n == 0 || control || path) return broken(16, what, index, i);
        i += n;
    }
    return {};
}

Broken v16_names(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    if (Broken b = text(plan.name(), Text::name, "name of the plan: -, byte", 0)) return b;
    if (plan.name()->size() == 0) return broken(16, "the plan has no name");
    if (Broken b = text(plan.producer(), Text::path_like, "producer: -, byte", 0)) return b;
    if (Broken b = text(plan.report(), Text::document, "report: -, byte", 0)) return b;
    if (Broken b = text(plan.certificates(), Text::document, "certificates: -, byte", 0)) return b;
    for (uint32_t i = 0; i < plan.inputs()->size(); ++i)
        if (Broken b = text(plan.inputs()->Get(i)->name(), Text::name, "name of an input: input, byte", i)) return b;
    for (uint32_t i = 0; i < count(plan.labels()); ++i)
        if (Broken b = text(plan.labels()->Get(i), Text::name, "label: label, byte", i)) return b;
    for (uint32_t i = 0; i < plan.variants()->size(); ++i)
        if (Broken b = text(plan.variants()->Get(i)->target(), Text::name, "target of a code variant: variant, byte", i)) return b;
    for (uint32_t i = 0; i < plan.kernels()->size(); ++i)
        if (Broken b = text(plan.kernels()->Get(i)->spec(), Text::document, "specification of a kernel: kernel, byte", i)) return b;
    if (plan.decision())
        if (Broken b = text(plan.decision()->output(), Text::name, "output of the decision: -, byte", 0)) return b;
    for (const fb::Entry *entry : *plan.entries()) {
        for (uint32_t i = 0; i < count(entry->outputs()); ++i) {
            if (Broken b = text(entry->outputs()->Get(i)->name(), Text::name, "name of an output: port, byte", i)) return b;
            for (uint32_t j = 0; j < i; ++j)
                if (equal(*entry->outputs()->Get(i)->name(), *entry->outputs()->Get(j)->name()))
                    return broken(16, "two outputs of an entry have one name: ports", i, j);
        }
        for (uint32_t i = 0; i < entry->steps()->size(); ++i)
            if (Broken b = text(entry->steps()->Get(i)->name(), Text::path_like, "name of a step: step, byte", i)) return b;
    }
    return {};
}

// ---- V18: values that are computed with ----------------------------------------------------------------------------------------------------------

Broken v18_values(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    auto probability = [](float x) { return x > 0 && x <= 1; }; // false for NaN
    auto milliseconds = [](float x) { return x >= 0 && x <= 3.6e6f; };
    if (const fb::Decision *d = plan.decision()) {
        if (!probability(d->default_threshold())) return broken(18, "default threshold is not in (0, 1]");
        for (uint32_t i = 0; i < count(d->thresholds()); ++i)
            if (!probability(d->thresholds()->Get(i)->value())) return broken(18, "a threshold is not in (0, 1]: threshold", i);
        if (!probability(d->release())) return broken(18, "release is not in (0, 1]");
        if (!milliseconds(d->smoothing_ms()) || !milliseconds(d->refractory_ms()))
            return broken(18, "smoothing or refractory time is not in [0, 1 hour]");
        if (d->min_count() > cap::block) return broken(18, "min_count: found, limit", d->min_count(), cap::block);
    }
    for (uint32_t g = 0; g < count(plan.golden()); ++g) {
        const float limit = plan.golden()->Get(g)->error_limit();
        if (!(limit > 0 && limit <= 1)) return broken(18, "error limit of a golden vector is not in (0, 1]: vector", g);
    }
    for (uint32_t i = 0; i < plan.inputs()->size(); ++i) {
        const fb::Input &input = *plan.inputs()->Get(i);
        if (input.kind() == fb::InputKind::audio && (input.sample_rate() < 1 || input.sample_rate() > 10000000))
            return broken(18, "sample rate of an audio input: input, rate", i, input.sample_rate());
        if (input.kind() == fb::InputKind::tokens && (input.vocabulary() < 1 || input.vocabulary() > 0x7fffffff || input.width() != 1))
            return broken(18, "vocabulary or width of a token input: input, vocabulary", i, input.vocabulary());
    }
    return {};
}

} // namespace longwave::artifact
