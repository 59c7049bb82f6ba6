// Early return of errors. PACELINE_TRY(status_expression) leaves the function with the error;
// PACELINE_TRY_ASSIGN(declaration, result_expression) also unpacks the value:
//
//   PACELINE_TRY_ASSIGN(const Header header, decode_header(bytes));
#pragma once

#include <utility>

#define PACELINE_TRY(expression)                                                           \
  do {                                                                                     \
    if (::paceline::Status paceline_try_ = (expression); !paceline_try_.ok()) [[unlikely]] \
      return paceline_try_;                                                                \
  } while (false)

#define PACELINE_TRY_CONCAT_(a, b) a##b
#define PACELINE_TRY_NAME_(line) PACELINE_TRY_CONCAT_(paceline_result_, line)
#define PACELINE_TRY_ASSIGN(declaration, expression)   \
  auto PACELINE_TRY_NAME_(__LINE__) = (expression);    \
  if (!PACELINE_TRY_NAME_(__LINE__).ok()) [[unlikely]] \
    return PACELINE_TRY_NAME_(__LINE__).status();      \
  declaration = *std::move(PACELINE_TRY_NAME_(__LINE__))
