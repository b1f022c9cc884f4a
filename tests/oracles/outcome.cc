#include "tests/oracles/outcome.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cmath>
#include <set>

namespace longwave::oracles {

bool Outcome::passed() const {
    return status && not_there.empty() && !measured.empty() &&
           std::all_of(measured.begin(), measured.end(), [](const Measured &m) { return m.ok(); });
}

const Measured *Outcome::worst() const {
    const Measured *worst = measured.empty() ? nullptr : &measured.front();
    for (const Measured &m : measured) // an error that is no number wins
        if (!(m.error / m.limit <= worst->error / worst->limit)) worst = &m;
    return worst;
}

std::string to_text(const Outcome &outcome, bool verbose) {
    if (!outcome.not_there.empty()) {
        std::string text = cli::format("%-44s %-34s error -        limit -      not on the device: %s\n",
                                       outcome.name.c_str(), "-",
                                       outcome.not_there.substr(0, outcome.not_there.find('\n')).c_str());
        return verbose ? text + outcome.not_there + "\n" : text;
    }
    if (!outcome.status) {
        const std::string &message = outcome.status.message();
        std::string text =
            cli::format("%-44s %-34s error -        limit -      FAIL  %s\n", outcome.name.c_str(), "-",
                        message.substr(0, message.find('\n')).c_str());
        return verbose ? text + message + "\n" : text;
    }
    std::string whole; // what was compared on the first target, streams of all counted
    size_t streams = 0;
    for (const Measured &m : outcome.measured) {
        if (!m.entry.empty()) streams++;
        else if (m.target == outcome.measured.front().target)
            whole += (whole.empty() ? "" : ",") + m.reference;
    }
    if (streams) whole += cli::format("%s%zu streamed", whole.empty() ? "" : " + ", streams);
    const Measured &worst = *outcome.worst();
    std::string text = cli::format("%-44s %-34s error %.1e  limit %.0e  %-4s  worst: %s\n",
                                   outcome.name.c_str(), whole.c_str(), worst.error, worst.limit,
                                   outcome.passed() ? "ok" : "FAIL", worst.what().c_str());
    for (const Measured &m : outcome.measured)
        if (verbose)
            text += cli::format("    %-40s error %.1e  limit %.0e  %s\n", m.what().c_str(), m.error, m.limit,
                                m.ok() ? "ok" : "FAIL");
    return text;
}

std::string by_target(const std::vector<Outcome> &outcomes, const std::vector<std::string> &targets) {
    std::string text;
    std::vector<std::string> names = targets;
    if (targets.size() > 1) names.push_back("all");
    for (const std::string &name : names) {
        size_t n = 0, whole = 0;
        double worst = 0; // of its limit; an error that is no number wins
        for (const Outcome &outcome : outcomes) {
            for (const Measured &m : outcome.measured) {
                if (m.target != name) continue;
                n++;
                whole += m.entry.empty();
                if (!(m.error / m.limit <= worst)) worst = m.error / m.limit;
            }
        }
        text +=
            cli::format("%s: %zu offline, %zu streamed, worst error %.2f of its limit\n",
                        name == "all" ? "states that go round all" : name.c_str(), whole, n - whole, worst);
    }
    return text;
}

nlohmann::ordered_json to_json(const Outcome &outcome) {
    using nlohmann::ordered_json;
    ordered_json json = {{"name", outcome.name}, {"kind", outcome.kind}, {"passed", outcome.passed()}};
    if (!outcome.not_there.empty()) json["not_on_device"] = outcome.not_there;
    if (!outcome.status) json["failure"] = outcome.status.message();
    json["references"] = ordered_json::array();
    std::set<std::string> streamed;
    for (const Measured &m : outcome.measured) {
        ordered_json one = {{"name", m.reference}, {"entry", m.entry.empty() ? "run" : "stream " + m.entry}};
        if (!m.target.empty()) one["target"] = m.target;
        one["error"] = std::isfinite(m.error) ? ordered_json(m.error) : ordered_json();
        one["limit"] = m.limit;
        one["passed"] = m.ok();
        json["references"].push_back(one);
        if (!m.entry.empty()) streamed.insert(m.entry);
    }
    json["blocks"] = streamed.empty() ? std::vector<uint32_t>{} : outcome.blocks;
    return json;
}

} // namespace longwave::oracles
