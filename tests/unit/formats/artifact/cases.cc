#include "tests/unit/formats/artifact/cases.h"
#include <doctest/doctest.h>

namespace longwave::test {

void check_cases(Draft (*model)(), std::span<const Case> cases) {
    for (const Case &c : cases) {
        Draft draft = model();
        c.edit(draft);
        const artifact::Broken broken = check(draft.bytes());
        CHECK_MESSAGE(broken.rule == c.rule, std::string(c.name), ": V", int(broken.rule), " ",
                      std::string(broken.text), " ", broken.a, " ", broken.b);
        CHECK((broken.rule == 0 || broken.text[0] != 0));
    }
}

void check_sound(const Draft &draft, const char *name) {
    const artifact::Broken broken = check(draft.bytes());
    CHECK_MESSAGE(!broken, std::string(name), " ", draft.plan.name, ": V", int(broken.rule), " ",
                  std::string(broken.text), " ", broken.a, " ", broken.b);
}

void move_to(fb::Place &p, uint64_t offset) {
    p = fb::Place(offset, p.slot_bytes(), p.tile_bytes(), p.slots(), p.slot_add(), p.space());
}
void into(fb::Place &p, fb::Space space) {
    p = fb::Place(p.offset(), p.slot_bytes(), p.tile_bytes(), p.slots(), p.slot_add(), space);
}
void repeat(std::vector<std::unique_ptr<fb::StepT>> &steps, size_t index, size_t times) {
    const fb::StepT copy = *steps[index];
    for (size_t i = 0; i < times; ++i) steps.push_back(std::make_unique<fb::StepT>(copy));
}

fb::DecisionT &decision(Draft &d) {
    d.plan.decision = std::make_unique<fb::DecisionT>();
    fb::DecisionT &decision = *d.plan.decision;
    decision.output = "sums";
    decision.default_threshold = 0.5f;
    decision.release = 0.5f;
    decision.smoothing_ms = 100;
    decision.refractory_ms = 100;
    return decision;
}

fb::GoldenT &golden(Draft &d) {
    d.segments.push_back({fb::SegmentKind::golden, std::vector<uint8_t>(128, 0)});
    auto vector = std::make_unique<fb::GoldenT>();
    vector->entry = stream;
    vector->error_limit = 1e-5f;
    for (auto *list : {&vector->inputs, &vector->outputs}) {
        auto tensor = std::make_unique<fb::GoldenTensorT>();
        tensor->rows = 8;
        tensor->width = 1;
        tensor->offset = list == &vector->inputs ? 0 : 32;
        list->push_back(std::move(tensor));
    }
    d.plan.golden.push_back(std::move(vector));
    return *d.plan.golden.back();
}

} // namespace longwave::test
