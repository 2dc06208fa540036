// SPDX-License-Identifier: BSD-3-Clause
// The part of {fmt} that its headers leave to its library, compiled once into what is loaded into other people's
// programs: they may have another libfmt, and with the headers alone each file that formats takes three seconds longer.
// The list is that of version 9 (CMakeLists.txt asks for it); what would be missing does not link.
#include <fmt/format-inl.h>

#include <locale>

namespace fmt {
inline namespace v9 {
namespace detail {

template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template locale_ref::locale_ref(const std::locale &locale);
template auto locale_ref::get<std::locale>() const -> std::locale;

}  // namespace detail
}  // namespace v9
}  // namespace fmt
