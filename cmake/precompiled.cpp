// SPDX-License-Identifier: BSD-3-Clause
// Nothing: what the targets that own precompiled headers have for a source (SluiceCompileOnce.cmake).
