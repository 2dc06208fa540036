# SPDX-License-Identifier: BSD-3-Clause
# What helps a user at the command line: man pages, completion for shells, and files for environment modules.
# packaging/make_help makes the first two with the programs of the build; the tables, the headers and the programs' own
# options are all that it reads.

# Files for Environment Modules and Lmod. Both find the installation from their own place.
set(modules_dir ${CMAKE_INSTALL_DATADIR}/modulefiles/sluice)
string(REGEX REPLACE "([-.+])" "%\\1" modules_pattern ${modules_dir})
foreach(kind tcl lua)
  configure_file(${PROJECT_SOURCE_DIR}/packaging/modules/sluice.${kind}.in ${PROJECT_BINARY_DIR}/package/sluice.${kind} @ONLY)
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/package/sluice.tcl DESTINATION ${modules_dir} RENAME ${PROJECT_VERSION}
        COMPONENT modules)
install(FILES ${PROJECT_BINARY_DIR}/package/sluice.lua DESTINATION ${modules_dir} RENAME ${PROJECT_VERSION}.lua
        COMPONENT modules)

# The build runs its own programs for the rest. A project that takes this one by add_subdirectory() has no use for it.
if(NOT PROJECT_IS_TOP_LEVEL OR SLUICE_SANITIZE OR CMAKE_CROSSCOMPILING)
  return()
endif()
find_program(RST2MAN NAMES rst2man rst2man.py DOC "Makes man pages")
set(help_options --source ${PROJECT_SOURCE_DIR} --sluice $<TARGET_FILE:sluice> --version ${PROJECT_VERSION}
                 --out ${PROJECT_BINARY_DIR}/share)
if(RST2MAN)
  list(APPEND help_options --rst2man ${RST2MAN})
else()
  message(STATUS "man pages: no rst2man (Debian package python3-docutils; tools/setup installs it); none are made")
endif()
set(help_programs sluice)
if(SLUICE_PROGRAM_FLAVOURS)
  list(GET SLUICE_PROGRAM_FLAVOURS 0 help_flavour)
  list(APPEND help_programs sluice-bench_${help_flavour})
  list(APPEND help_options --bench $<TARGET_FILE:sluice-bench_${help_flavour}> --flavours ${SLUICE_PROGRAM_FLAVOURS})
endif()
get_property(help_backends GLOBAL PROPERTY SLUICE_INSTALLED_BACKENDS)
get_property(help_modules GLOBAL PROPERTY SLUICE_MEMORY_MODULES)
file(GLOB help_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/packaging/user_help/*.py ${PROJECT_SOURCE_DIR}/include/sluice/*.h
     ${PROJECT_SOURCE_DIR}/backends/*/knobs.def)
set(help_stamp ${PROJECT_BINARY_DIR}/share/made)
add_custom_command(OUTPUT ${help_stamp}
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/packaging/make_help ${help_options} --backends ${help_backends}
          --memory-modules ${help_modules}
  COMMAND ${CMAKE_COMMAND} -E touch ${help_stamp}
  DEPENDS ${help_programs} ${help_sources} ${PROJECT_SOURCE_DIR}/packaging/make_help ${PROJECT_SOURCE_DIR}/tools/knob_tables.py
          ${PROJECT_SOURCE_DIR}/src/base/knobs.def ${PROJECT_SOURCE_DIR}/src/base/settings.def
          ${PROJECT_SOURCE_DIR}/bench/tune ${PROJECT_SOURCE_DIR}/bench/report_runs ${PROJECT_SOURCE_DIR}/bench/compare_runs.py
          ${PROJECT_SOURCE_DIR}/bench/paper_figures
  COMMENT "Making man pages and completion for shells" VERBATIM COMMAND_EXPAND_LISTS)
add_custom_target(sluice_help ALL DEPENDS ${help_stamp})

# Each program's help goes with the program, and that of functions with the headers.
set(help_folder ${PROJECT_BINARY_DIR}/share)
file(MAKE_DIRECTORY ${help_folder}/man/man1 ${help_folder}/man/man3 ${help_folder}/man/man7 ${help_folder}/bash-completion
     ${help_folder}/zsh ${help_folder}/fish)
foreach(folder bash-completion zsh fish)
  install(DIRECTORY ${help_folder}/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT sluice
          PATTERN "*sluice-bench*" EXCLUDE)
  install(DIRECTORY ${help_folder}/${folder} DESTINATION ${CMAKE_INSTALL_DATADIR} COMPONENT sluice-bench
          FILES_MATCHING PATTERN "*sluice-bench*")
endforeach()
install(DIRECTORY ${help_folder}/man/man1 ${help_folder}/man/man7 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT sluice
        PATTERN "sluice-bench*" EXCLUDE)
install(DIRECTORY ${help_folder}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT sluice-bench
        FILES_MATCHING PATTERN "sluice-bench*")
install(DIRECTORY ${help_folder}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT libsluice-dev)
