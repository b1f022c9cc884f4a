#include "formats/huggingface/kinds.h"
#include "formats/huggingface/architectures.h"
#include "formats/package/attributes.h"

namespace longwave::huggingface {
namespace {

using nlohmann::json;
using package::Problems;

class Reader {
public:
    Reader(const KindRule &rule, Config &config, Problems &problems)
        : rule_(rule), config_(config), problems_(problems) {}

    void read(const json &value, uint64_t depth) {
        switch (rule_.kind) {
        case KindRule::Kind::list: return list(value, value.size());
        case KindRule::Kind::cycle: return list(value, depth);
        case KindRule::Kind::letters: return letters(value);
        case KindRule::Kind::places: return places(value, depth);
        case KindRule::Kind::first: return places(json::array({0}), depth);
        case KindRule::Kind::interval: return interval(value, depth);
        }
    }

private:
    void list(const json &value, uint64_t count) {
        if (!value.is_array() || value.empty() || value.size() > most_blocks)
            return wrong("a list of names", value);
        for (uint64_t i = 0; i < count; ++i) {
            const size_t at = i % value.size();
            add(package::element(rule_.key, at), value[at]);
        }
    }

    void letters(const json &value) {
        if (!value.is_string() || value.get_ref<const std::string &>().empty() ||
            value.get_ref<const std::string &>().size() > most_blocks)
            return wrong("a text with a letter for each block", value);
        const auto &text = value.get_ref<const std::string &>();
        for (size_t i = 0; i < text.size(); ++i)
            add(package::element(rule_.key, i), json(std::string(1, text[i])));
    }

    void places(const json &value, uint64_t depth) {
        if (!value.is_array() || value.size() > most_blocks) return wrong("a list of places", value);
        std::vector<bool> first(depth);
        for (size_t i = 0; i < value.size(); ++i)
            if (package::integer_in(value[i], 0, static_cast<double>(depth) - 1,
                                    package::element(rule_.key, i), problems_))
                first[value[i].get<size_t>()] = true;
        for (const bool one : first) add(rule_.names[one ? 0 : 1].second);
    }

    void interval(const json &value, uint64_t depth) {
        if (!package::integer_in(value, 1, 1 << 24, rule_.key, problems_)) return;
        const auto n = value.get<uint64_t>();
        for (uint64_t i = 0; i < depth; ++i) add(rule_.names[(i + 1) % n ? 0 : 1].second);
    }

    void add(const std::string &where, const json &name) {
        std::string names;
        for (const auto &[text, kind] : rule_.names) {
            if (name == text) {
                const std::string reason = add(kind);
                if (!reason.empty())
                    problems_.add(where, "a block that is read", package::describe(name), reason);
                return;
            }
            names += (names.empty() ? "" : ", ") + package::in_quotes(text);
        }
        problems_.add(where, "one of " + names, package::describe(name));
    }

    // Gives the reason if such blocks are refused.
    std::string add(const std::string &kind) {
        const std::vector<Block> &blocks = config_.architecture->blocks;
        for (size_t i = 0; i < blocks.size(); ++i)
            if (blocks[i].name == kind) {
                config_.kinds.push_back(i);
                return blocks[i].refused;
            }
        return "";
    }

    void wrong(const std::string &expected, const json &value) {
        problems_.add(rule_.key, expected, package::describe(value));
    }

    const KindRule &rule_;
    Config &config_;
    Problems &problems_;
};

} // namespace

void read_kinds(const json &object, Config &config, Problems &problems) {
    const Architecture &of = *config.architecture;
    const uint64_t depth = of.depth.empty() ? 0 : config.size(of.depth);
    if (of.kinds.empty()) {
        config.kinds.assign(depth, 0);
        return;
    }
    std::string keys;
    const auto read = [&](const KindRule &rule, const json &value) {
        Reader(rule, config, problems).read(value, depth);
        if (!of.depth.empty() && !problems.any() && config.kinds.size() != depth)
            problems.add(rule.key, of.depth + " blocks, " + std::to_string(depth),
                         std::to_string(config.kinds.size()));
    };
    for (const KindRule &rule : of.kinds) {
        if (rule.kind == KindRule::Kind::first) return read(rule, json());
        const auto given = object.find(rule.key);
        if (given != object.end() && !given->is_null()) return read(rule, *given);
        keys += (keys.empty() ? "" : " or ") + rule.key;
    }
    for (const KindRule &rule : of.kinds)
        if (!rule.fallback.empty()) return read(rule, json::parse(rule.fallback, nullptr, false));
    problems.add(keys, "this key", "no such key");
}

} // namespace longwave::huggingface
