#include <paceline/paceline.h>
#include <paceline/steps.h>

static_assert(plPartCompute == static_cast<int>(paceline::StepPart::kCompute));
static_assert(plPartInput == static_cast<int>(paceline::StepPart::kInput));
static_assert(plPartOther == static_cast<int>(paceline::StepPart::kOther));

void plStepBegin(void) { paceline::begin_step(); }
void plStepEnd(uint64_t samples, double flop) { paceline::end_step(samples, flop); }

int plInputIsRepeated(void) { return paceline::input_is_repeated() ? 1 : 0; }

// A number that is none of the parts counts as compute.
plPart_t plEnterPart(plPart_t part) {
  const bool is_known = part == plPartInput || part == plPartOther;
  const auto entered =
      is_known ? static_cast<paceline::StepPart>(part) : paceline::StepPart::kCompute;
  return static_cast<plPart_t>(paceline::enter_part(entered));
}
