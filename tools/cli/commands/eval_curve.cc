#include "tools/cli/commands/eval_curve.h"
#include "tools/cli/check/statistics.h"
#include "tools/cli/output/text.h"
#include "tools/cli/page/page.h"
#include <algorithm>
#include <cmath>

namespace longwave::cli {
namespace {

constexpr double chart_left = 62, chart_top = 46, chart_width = 560, chart_height = 300;

constexpr const char *curve_style =
    ".s{fill:#fff}.ink{fill:#1f2328}.muted{fill:#59636e}.grid{stroke:#d7dce1}.line{stroke:#2a6fc9;stroke-"
    "width:2;"
    "fill:none}.bound{stroke:#8c6d1f;stroke-width:2;stroke-dasharray:5 4;fill:none}.dot{fill:#2a6fc9}"
    ".chosen{fill:#b3486b}.edge{fill:#8c6d1f}"
    "@media "
    "(prefers-color-scheme:dark){.s{fill:#0d1117}.ink{fill:#e6edf3}.muted{fill:#9da7b3}.grid{stroke:#30363d}"
    ".line{stroke:#58a0f0}.bound{stroke:#d9b44a}.dot{fill:#58a0f0}.chosen{fill:#e07a9c}.edge{fill:#d9b44a}}";

// The scales: events per hour in decades, with a place at the left for none; misses from 0.
struct Scale {
    double low = 0.1, high = 10, most = 0.2;

    explicit Scale(const std::vector<CurvePoint> &points) {
        for (const CurvePoint &p : points) {
            if (p.false_accepts > 0) low = std::min(low, p.per_hour());
            high = std::max(high, p.per_hour_bound());
            most = std::max(most, std::min(1.0, p.miss_rate()));
        }
        low = std::pow(10, std::floor(std::log10(low)));
        high = std::pow(10, std::ceil(std::log10(high)));
        most = std::ceil(most * 10) / 10;
    }
    double x(double per_hour) const {
        constexpr double none = 40; // of the width
        if (per_hour < low) return chart_left;
        return chart_left + none + (chart_width - none) * std::log10(per_hour / low) / std::log10(high / low);
    }
    double y(double rate) const { return chart_top + chart_height * (1 - rate / most); }
};

std::string label(double x, double y, const std::string &words, const char *of,
                  const char *anchor = "middle") {
    return "<text class=\"" + std::string(of) + "\" x=\"" + css_number(x) + "\" y=\"" + css_number(y) +
           "\" text-anchor=\"" + anchor + "\">" + escaped(words) + "</text>\n";
}

std::string axes(const Scale &scale) {
    std::string out;
    const auto rule = [&](double x1, double y1, double x2, double y2) {
        out += "<line class=\"grid\" x1=\"" + css_number(x1) + "\" y1=\"" + css_number(y1) + "\" x2=\"" +
               css_number(x2) + "\" y2=\"" + css_number(y2) + "\"/>\n";
    };
    const double step = scale.most > 0.5 ? 0.2 : scale.most > 0.25 ? 0.1 : 0.05;
    for (double rate = 0; rate <= scale.most + 1e-9; rate += step) {
        rule(chart_left, scale.y(rate), chart_left + chart_width, scale.y(rate));
        out += label(chart_left - 8, scale.y(rate) + 4, format("%.0f %%", 100 * rate), "muted", "end");
    }
    rule(chart_left, chart_top, chart_left, chart_top + chart_height);
    out += label(chart_left, chart_top + chart_height + 20, "none", "muted");
    for (double decade = scale.low; decade <= scale.high * 1.001; decade *= 10) {
        rule(scale.x(decade), chart_top, scale.x(decade), chart_top + chart_height);
        out += label(scale.x(decade), chart_top + chart_height + 20, format("%g", decade), "muted");
    }
    out +=
        label(chart_left + chart_width / 2, chart_top + chart_height + 42, "false accepts per hour", "muted");
    return out;
}

std::string line_path(const std::vector<CurvePoint> &points, const Scale &scale, bool bound) {
    std::string d;
    for (const CurvePoint &p : points)
        d += (d.empty() ? "M" : "L") + css_number(scale.x(bound ? p.per_hour_bound() : p.per_hour())) + " " +
             css_number(scale.y(p.miss_rate()));
    return "<path class=\"" + std::string(bound ? "bound" : "line") + "\" d=\"" + d + "\"/>\n";
}

} // namespace

double CurvePoint::per_hour_bound() const { return hours > 0 ? count_bound(false_accepts) / hours : 0; }

std::vector<CurvePoint> curve_of(const Scorer &scorer, const WordStream &words, const Negatives &negatives) {
    std::vector<CurvePoint> points;
    for (int i = 0; i <= 28; i++) {
        const float threshold = i == 28 ? 0.99f : 0.3f + 0.025f * static_cast<float>(i);
        std::vector<float> thresholds = scorer.thresholds();
        for (float &one : thresholds) one = one > 1 ? one : threshold;
        const WordResult result = judge(words, scorer.events(words.scores, thresholds));
        points.push_back({threshold, result.missed, result.words,
                          scorer.events(negatives.scores, thresholds).size(), negatives.hours});
    }
    return points;
}

Expected<OperatingPoint> operating_point(const Scorer &scorer, const Negatives &negatives, double per_hour) {
    const auto &own = scorer.thresholds();
    const float first = *std::find_if(own.begin(), own.end(), [](float one) { return one <= 1; });
    // The first word has 0.99, 0.98, 0.975 ... 0.90, 0.89 ... 0.30.
    std::optional<OperatingPoint> best;
    for (int at = 990; at >= 300; at -= at == 990 || at <= 900 ? 10 : 5) {
        OperatingPoint point{own, 0, false};
        bool possible = true;
        for (float &one : point.thresholds) {
            if (one > 1) continue;
            const double moved = std::round(at + 1000 * (double{one} - double{first})) / 1000;
            possible = possible && moved > 0 && moved <= 1;
            one = static_cast<float>(moved);
        }
        if (!possible) continue;
        point.false_accepts = scorer.events(negatives.scores, point.thresholds).size();
        point.shown = count_bound(point.false_accepts) <= per_hour * negatives.hours;
        if (best && (best->shown ? !point.shown : point.false_accepts > best->false_accepts)) break;
        best = std::move(point);
    }
    if (!best) return Status::usage("the thresholds of the words lie too far apart to move together");
    return *best;
}

nlohmann::ordered_json to_json(const CurvePoint &p) {
    return {{"threshold", std::round(1000.0 * double{p.threshold}) / 1000},
            {"missed", p.missed},
            {"words", p.words},
            {"miss_rate", p.miss_rate()},
            {"false_accepts", p.false_accepts},
            {"per_hour", p.per_hour()},
            {"per_hour_bound", p.per_hour_bound()}};
}

std::string curve_csv(const std::vector<CurvePoint> &points) {
    std::string out =
        "threshold,missed,words,miss_rate,miss_low,miss_high,false_accepts,hours,per_hour,per_hour_bound\n";
    for (const CurvePoint &p : points) {
        const auto [low, high] = proportion_interval(p.missed, p.words);
        out += format("%.3f,%llu,%llu,%.5f,%.5f,%.5f,%llu,%.4f,%.4f,%.4f\n", double{p.threshold},
                      static_cast<unsigned long long>(p.missed), static_cast<unsigned long long>(p.words),
                      p.miss_rate(), low, high, static_cast<unsigned long long>(p.false_accepts), p.hours,
                      p.per_hour(), p.per_hour_bound());
    }
    return out;
}

std::string curve_svg(const std::vector<CurvePoint> &points, const CurvePoint &chosen,
                      const std::string &model) {
    std::vector<CurvePoint> all = points;
    all.push_back(chosen);
    const Scale scale(all);
    std::string out =
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 660 430\" role=\"img\" "
        "font-family=\"system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif\" font-size=\"13\">\n"
        "<title>" +
        escaped(model + ": missed words against false accepts per hour") + "</title>\n<style>" + curve_style +
        "</style>\n<rect class=\"s\" width=\"660\" height=\"430\"/>\n";
    out += label(chart_left, 22,
                 format("%s: missed words, %.2f hours of other audio", model.c_str(), chosen.hours), "ink",
                 "start");
    out += axes(scale) + line_path(points, scale, true) + line_path(points, scale, false);
    for (size_t i = 0; i < points.size(); i++) {
        out += "<circle class=\"dot\" cx=\"" + css_number(scale.x(points[i].per_hour())) + "\" cy=\"" +
               css_number(scale.y(points[i].miss_rate())) + "\" r=\"3\"><title>" +
               escaped(format("threshold %.3f", double{points[i].threshold})) + "</title></circle>\n";
    }
    out += "<circle class=\"chosen\" cx=\"" + css_number(scale.x(chosen.per_hour())) + "\" cy=\"" +
           css_number(scale.y(chosen.miss_rate())) + "\" r=\"6\"/>\n";
    out += "<path class=\"line\" d=\"M430 38h22\"/>" + label(458, 42, "measured", "muted", "start");
    out += "<path class=\"bound\" d=\"M530 38h22\"/>" + label(558, 42, "95 % bound", "muted", "start");
    return out + "<circle class=\"chosen\" cx=\"330\" cy=\"38\" r=\"5\"/>" +
           label(340, 42, "settings used", "muted", "start") + "</svg>\n";
}

} // namespace longwave::cli
