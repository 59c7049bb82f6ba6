#include "topology/render/left_out_list.h"

#include "comm/base/text.h"

namespace paceline::topology {

void LeftOutList::say(const std::string& field, std::string sentence) {
  left_.fields.push_back(field);
  left_.sentences.push_back(std::move(sentence));
}

void LeftOutList::count(const std::string& field, std::size_t number, const std::string& what) {
  add_if(number > 0, field, count_text(number, what));
}

void LeftOutList::add_if(bool is_left_out, const std::string& field, const std::string& what) {
  if (!is_left_out) return;
  left_.fields.push_back(field);
  without_words_.push_back(what);
}

LeftOut LeftOutList::take() {
  if (!without_words_.empty())
    left_.sentences.push_back(form_ +
                              " cannot state, and leaves out: " + list_text(without_words_));
  return std::move(left_);
}

}  // namespace paceline::topology
