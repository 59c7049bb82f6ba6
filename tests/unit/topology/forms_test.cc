#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "tests/unit/topology/form_check.h"
#include "tests/unit/topology/random_machine.h"

namespace paceline::topology {
namespace {

// The command of acceptance/untried_inputs tries many more.
TEST(Forms, SayWhatWasReadAndListWhatTheyLeaveOut) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const HostModel host = random_machine(seed);
    for (const Form& form : kForms)
      for (const std::string& fault : FormCheck(host, form).faults())
        ADD_FAILURE() << "seed " << seed << " as " << form.name << ": " << fault
                      << "\nrepeat: forms_say_what_was_read --seed " << seed << " --machines 1";
  }
}

TEST(Forms, AMachineIsDrawnTheSameFromASeed) {
  EXPECT_EQ(model_json_text(random_machine(7)), model_json_text(random_machine(7)));
  EXPECT_NE(model_json_text(random_machine(7)), model_json_text(random_machine(8)));
}

}  // namespace
}  // namespace paceline::topology
