"""Each rule is a function from a Tree to Findings; its docstring says what it asks."""

from . import functions, homes, includes, language, layers, readmes, text, tools

RULES = {
    "layers": layers.check,
    "folder-cycles": layers.check_cycles,
    "includes": includes.check_paths,
    "own-header-first": includes.check_own_first,
    "pragma-once": includes.check_pragma_once,
    "headers-compile": tools.check_headers_compile,
    "columns": text.check_columns,
    "file-length": text.check_file_length,
    "function-length": functions.check,
    "homes": homes.check,
    "unfinished": text.check_unfinished,
    "readme": text.check_readme,
    "readme-files": readmes.check_files,
    "language": language.check,
    "format": tools.check_format,
    "shell": tools.check_shell,
}
