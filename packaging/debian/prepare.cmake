# SPDX-License-Identifier: BSD-3-Clause
# CPack runs this between the installation of all components and the making of the packages (CPACK_PRE_BUILD_SCRIPTS).
find_program(PYTHON NAMES python3 REQUIRED)
set(source ${CMAKE_CURRENT_LIST_DIR}/../..)
set(answers ${CPACK_TEMPORARY_DIRECTORY}/answers.cmake)
execute_process(COMMAND ${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/prepare --stage ${CPACK_TEMPORARY_INSTALL_DIRECTORY}
                        --version ${CPACK_PACKAGE_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE} --answers ${answers}
                        --packages ${CPACK_COMPONENTS_ALL}
                WORKING_DIRECTORY ${source} RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "packaging/debian/prepare ended with ${status}; what it says stands above")
endif()
include(${answers})
# CPack puts it before each package's own description.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
