// A list of PJRT_NamedValue that owns its names and values.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "xla/pjrt/c/pjrt_c_api.h"

namespace mychip::pjrt {

class NamedValues {
 public:
  NamedValues() = default;
  NamedValues(const NamedValues&) = delete;
  NamedValues& operator=(const NamedValues&) = delete;

  void Add(const std::string& name, int64_t value) { New(name, PJRT_NamedValue_kInt64).int64_value = value; }
  void Add(const std::string& name, float value) { New(name, PJRT_NamedValue_kFloat).float_value = value; }
  void Add(const std::string& name, std::string value) {
    PJRT_NamedValue& v = New(name, PJRT_NamedValue_kString);
    strings_.push_back(std::move(value));
    v.string_value = strings_.back().c_str();
    v.value_size = strings_.back().size();
  }
  void Add(const std::string& name, std::vector<int64_t> value) {
    PJRT_NamedValue& v = New(name, PJRT_NamedValue_kInt64List);
    lists_.push_back(std::move(value));
    v.int64_array_value = lists_.back().data();
    v.value_size = lists_.back().size();
  }

  const PJRT_NamedValue* data() const { return values_.data(); }
  size_t size() const { return values_.size(); }

 private:
  PJRT_NamedValue& New(const std::string& name, PJRT_NamedValue_Type type) {
    strings_.push_back(name);
    PJRT_NamedValue value{};
    value.struct_size = PJRT_NamedValue_STRUCT_SIZE;
    value.name = strings_.back().c_str();
    value.name_size = strings_.back().size();
    value.type = type;
    value.value_size = 1;
    values_.push_back(value);
    return values_.back();
  }

  std::vector<PJRT_NamedValue> values_;
  std::deque<std::string> strings_;  // a deque: addresses stay when it grows
  std::deque<std::vector<int64_t>> lists_;
};

}  // namespace mychip::pjrt
