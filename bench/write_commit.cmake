# SPDX-License-Identifier: BSD-3-Clause
# Writes OUTPUT, a header with the commit that SOURCE_DIR is at; an empty text outside a git checkout.
set(commit "")
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --exclude=*
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
if(failed)
  set(commit "")
endif()
set(text "// Generated: the commit this was built from.\n#pragma once\ninline constexpr char kCommit[] = \"${commit}\";\n")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT text STREQUAL old)
  file(WRITE ${OUTPUT} "${text}")
endif()
