#include "tools/cli/output/report_value.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cmath>

using nlohmann::ordered_json;

namespace longwave::cli {

ReportValue::ReportValue(const ordered_json *json, std::string path)
    : json_(json && json->is_null() ? nullptr : json), path_(std::move(path)) {}

void ReportValue::wrong(const char *expected) const {
    throw WrongType{(path_.empty() ? "" : path_ + ": ") + "expected " + expected + ", found " +
                    json_->type_name()};
}

ReportValue ReportValue::operator[](const char *key) const {
    const std::string path = path_.empty() ? key : path_ + "." + key;
    if (!json_) return ReportValue(nullptr, path);
    if (!json_->is_object()) wrong("an object");
    const auto it = json_->find(key);
    return ReportValue(it == json_->end() ? nullptr : &*it, path);
}

bool ReportValue::is_text() const { return json_ && json_->is_string(); }

std::string ReportValue::text() const { return printable(lines()); }

std::string ReportValue::lines() const {
    if (!json_) return "";
    if (!json_->is_string()) wrong("a text");
    return printable_lines(json_->get<std::string>());
}

double ReportValue::number() const {
    if (!json_) return 0;
    if (!json_->is_number()) wrong("a number");
    return json_->get<double>();
}

uint64_t ReportValue::count() const {
    const double value = number();
    if (!(value >= 0 && value <= 0x1p63 && value == std::floor(value)))
        wrong("a whole number that is not negative");
    return static_cast<uint64_t>(value);
}

bool ReportValue::truth(bool otherwise) const {
    if (!json_) return otherwise;
    if (!json_->is_boolean()) wrong("true or false");
    return json_->get<bool>();
}

std::vector<ReportValue> ReportValue::list() const {
    std::vector<ReportValue> values;
    if (!json_) return values;
    if (!json_->is_array()) wrong("a list");
    for (size_t i = 0; i < json_->size(); i++)
        values.push_back(ReportValue(&(*json_)[i], path_ + "[" + std::to_string(i) + "]"));
    return values;
}

std::vector<ReportValue> entries_of(const ReportValue &report, const char *kind) {
    auto list = report["entries"].list();
    std::erase_if(list, [&](const ReportValue &entry) { return entry["kind"].text() != kind; });
    return list;
}

} // namespace longwave::cli
