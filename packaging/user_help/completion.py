# SPDX-License-Identifier: BSD-3-Clause
"""Completion of a program's commands, options and values, for bash, zsh and fish, from the program's table of options."""

import re

BASH_HEAD = r"""# Completion of {name} for bash, made from the program's own table of options.
{function}() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} path={name} word previous=none i n_words=0
  local commands options takes values= kind=none is_other=0
  # The shell makes words of their own of "=" and ":".
  [[ $current == = ]] && current=
  [[ $before == = ]] && before=${{COMP_WORDS[COMP_CWORD - 2]}}
  [[ $before == : ]] && before=${{COMP_WORDS[COMP_CWORD - 3]}} && current=
  {function}_of "$path"
  for ((i = 1; i < COMP_CWORD; ++i)); do
    word=${{COMP_WORDS[i]}}
    if [[ $word == -- ]]; then
      is_other=$((i + 1))
      break
    elif [[ $word != -* && $word != = && " $takes " != *" $previous "* ]]; then
      if [[ " $commands " == *" $word "* && $n_words == 0 ]]; then
        path+=" $word"
        {function}_of "$path"
      else
        n_words=$((n_words + 1))
      fi
    fi
    [[ $word == = ]] || previous=$word
  done
  if ((is_other)); then
    if declare -F _command_offset >/dev/null; then
      _command_offset "$is_other"
    else
      mapfile -t COMPREPLY < <(compgen -c -- "$current")
    fi
    return
  fi
  {function}_values "$path" "$before"
  if [[ $kind == none ]]; then
    values=$options
    if [[ $current != -* ]]; then
      values=
      ((n_words == 0)) && values=$commands
      {function}_words "$path" "$n_words"
    fi
  fi
  case $kind in
    file) mapfile -t COMPREPLY < <(compgen -f -- "$current") && compopt -o filenames 2>/dev/null ;;
    folder) mapfile -t COMPREPLY < <(compgen -d -- "$current") && compopt -o filenames 2>/dev/null ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current") ;;
  esac
}}
"""


def words(options):
    return " ".join(name for option in options for name in option.names)


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def bash_values(option):
    return f"kind={option.takes()} values={quoted(' '.join(option.values))}"


def bash(program, names):
    """The function, and its registration for all names of the program."""
    function = "_" + program.name().replace("-", "_")
    lines = [BASH_HEAD.format(function=function, name=program.path)]
    commands = list(program.all())
    lines.append(f"{function}_of() {{\n  case $1 in")
    for command in commands:
        takes = [option for option in command.options if option.word and not option.is_value_optional]
        lines.append(f"    {quoted(command.path)})\n      commands={quoted(' '.join(one.name() for one in command.commands))}\n"
                     f"      options={quoted(words(command.options))}\n      takes={quoted(words(takes))}\n      ;;")
    lines.append(f"  esac\n}}\n{function}_values() {{\n  case \"$1 $2\" in")
    for command in commands:
        for option in command.options:
            if option.word and (option.values or not option.is_value_optional):
                patterns = " | ".join(quoted(f"{command.path} {name}") for name in option.names)
                lines.append(f"    {patterns}) {bash_values(option)} ;;")
    # The words that stand by themselves: a last one may be repeated.
    lines.append(f"  esac\n}}\n{function}_words() {{\n  case \"$1 $2\" in")
    for command in commands:
        if command.tests:
            lines.append(f"    {quoted(command.path + ' 0')}) values+=' {' '.join(name for name, _ in command.tests)}' ;;")
        for number, option in enumerate(command.words):
            place = "*" if option.is_repeated else str(number)
            if option.takes() in ("file", "folder", "values") and not command.tests:
                lines.append(f"    {quoted(command.path + ' ')}{place}) {bash_values(option)} ;;")
    lines.append("    *) ;;\n  esac\n}")
    lines.append(f"complete -F {function} {' '.join(names)}\n")
    return "\n".join(lines)


def zsh_text(text):
    return re.sub(r"([\\:\[\]])", r"\\\1", text).replace("'", "'\\''")


def zsh_action(option):
    if option.values:
        return "(" + " ".join(zsh_text(value) for value in option.values) + ")"
    return {"file": "_files", "folder": "_files -/"}.get(option.takes(), "")


def zsh_specs(command):
    """What _arguments takes for each option."""
    for option in command.options:
        value = ""
        if option.word and not option.is_value_optional:
            value = f":{zsh_text(option.word.lower())}:{zsh_action(option)}"
        elif option.word:
            value = f"::{zsh_text(option.word.lower())}:{zsh_action(option)}"
        for name in option.names:
            others = " ".join(one for one in option.names if one != name)
            attach = "" if not value or not name.startswith("--") else "=-" if option.is_value_optional else "="
            head = f"({others})" if others else ""
            yield f"'{head}{name}{attach}[{zsh_text(option.text)}]{value}'"


def zsh_function(name, command, function):
    """The function of a command, and those of the commands below it."""
    specs = list(zsh_specs(command))
    tail = []
    if command.commands or command.tests:
        specs += ["'1:command:->command'", "'*::argument:->argument'"]
        entries = [(one.name(), one.text) for one in command.commands] + command.tests
        listed = "\n".join(f"        '{zsh_text(word)}:{zsh_text(text)}'" for word, text in entries)
        tail = ["  case $state in", "    command)", "      local -a commands=(", listed, "      )",
                "      _describe command commands", "      ;;", "    argument)", "      case $words[1] in"]
        tail += [f"        {one.name()}) {function}-{one.name()} ;;" for one in command.commands]
        tail += [f"        *) {function}-options ;;"] if command.tests else []
        tail += ["      esac", "      ;;", "  esac"]
    elif command.runs_command:
        specs += ["'(-)1:command: _command_names -e'", "'*::argument: _normal'"]
    else:
        specs += [f"'{'*' if option.is_repeated else number}:{zsh_text(option.word.lower())}:{zsh_action(option)}'"
                  for number, option in enumerate(command.words, 1)]
    if not specs:
        specs = ["'*:argument:_files'"]
    body = [f"{name}() {{", "  local state line", "  local -A opt_args", "  _arguments -C \\"]
    body += [f"    {spec} \\" for spec in specs[:-1]] + [f"    {specs[-1]}", *tail, "}"]
    if command.tests:
        body += [f"{function}-options() {{", "  _arguments \\", *(f"    {spec} \\" for spec in zsh_specs(command)),
                 "    '*:placement:'", "}"]
    for one in command.commands:
        body += zsh_function(f"{function}-{one.name()}", one, f"{function}-{one.name()}")
    return body


def zsh(program, names):
    function = "_" + program.name()
    return "\n".join([f"#compdef {' '.join(names)}", f"# Completion of {program.path} for zsh, made from its own table of options.",
                      *zsh_function(function, program, function), f'{function} "$@"', ""])


def fish_quoted(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def fish_condition(command, program):
    """What is true where this command, and none below it, is being written."""
    below = [one.name() for one in command.commands]
    depth = command.path.split()[1:]
    parts = [f"__fish_seen_subcommand_from {name}" for name in depth]
    if below:
        parts.append(f"not __fish_seen_subcommand_from {' '.join(below)}")
    return "; and ".join(parts)


def fish_option(option):
    words_ = []
    for name in option.names:
        words_ += ["-l", name[2:]] if name.startswith("--") else ["-s", name[1:]]
    if option.word and not option.is_value_optional:
        words_.append({"file": "-r -F", "folder": "-x -a '(__fish_complete_directories)'"}.get(option.takes(), "-x"))
    if option.values:
        words_ += ["-a", fish_quoted(" ".join(option.values))]
    return " ".join([*words_, "-d", fish_quoted(option.text)])


def fish(program, names):
    lines = [f"# Completion of {program.path} for fish, made from the program's own table of options."]
    for name in names:
        lines.append(f"complete -c {name} -f")
        for command in program.all():
            condition = fish_condition(command, program)
            begin = f"complete -c {name}" + (f" -n {fish_quoted(condition)}" if condition else "")
            for option in command.options:
                lines.append(f"{begin} {fish_option(option)}")
            for one in command.commands:
                lines.append(f"{begin} -a {fish_quoted(one.name())} -d {fish_quoted(one.text)}")
            for word, text in command.tests:
                lines.append(f"{begin} -a {fish_quoted(word)} -d {fish_quoted(text)}")
            if command.runs_command:
                lines.append(f"{begin}'; and contains -- -- (commandline -opc)' -a '(__fish_complete_command)'")
            for option in () if command.tests else command.words:
                if option.values:
                    lines.append(f"{begin} -a {fish_quoted(' '.join(option.values))} -d {fish_quoted(option.text)}")
                elif option.takes() == "file":
                    lines.append(f"{begin} -F")
    return "\n".join([*lines, ""])
