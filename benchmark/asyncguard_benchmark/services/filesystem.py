"""FS: a file system with a current directory.

A state is ``{"cwd": "/home/ana", "tree": {...}}``; in the tree a directory is an object and a file is its text.
Paths may be relative, absolute, and hold ``.`` and ``..``. One file can be reached by many spellings, so footprints do
not name paths: a template on the argument would miss aliases. They name the current directory and the tree.
"""

from collections.abc import Callable
from typing import Any

from asyncguard_benchmark.harness.scenario import Category
from asyncguard_benchmark.services import file_actions as run
from asyncguard_benchmark.services.declarations import Effect, Tool, arguments, choice, text, whole
from asyncguard_benchmark.services.service import toolset

_CWD = "fs:{task_id}:cwd"
_TREE = "fs:{task_id}:tree"

_FILE = text("Path of a file.")
_FOLDER = text("Path of a directory.")
_HERE = text("Path of the directory to look in; leave it out for the current one.", default=".")
_ENDS = whole("How many lines.", default=10)


def _reader(name: str, description: str, action: Callable[..., Any], /, **properties: Any) -> Tool:
    schema = arguments(**properties)
    return Tool(
        name=name,
        description=description,
        parameters=schema,
        effect=Effect.PURE,
        reads=(_CWD, _TREE),
        run=action,
    )


def _writer(
    name: str, description: str, action: Callable[..., Any], effect: Effect, /, **properties: Any
) -> Tool:
    return Tool(
        name=name,
        description=description,
        parameters=arguments(**properties),
        effect=effect,
        reads=(_CWD, _TREE),
        writes=(_TREE,),
        run=action,
    )


_CD = Tool(
    name="cd",
    description="Makes a directory the current one and tells its full path.",
    parameters=arguments(folder=_FOLDER),
    effect=Effect.AT_MOST_ONCE,  # a relative path leads somewhere else the second time
    reads=(_CWD, _TREE),
    writes=(_CWD,),
    run=run.change_directory,
)
_PWD = Tool(
    name="pwd",
    description="Tells the full path of the current directory.",
    parameters=arguments(),
    effect=Effect.PURE,
    reads=(_CWD,),
    run=run.current_directory,
)

TOOLSET = toolset(
    Category.FILESYSTEM,
    run.STATE_SCHEMA,
    (
        _CD,
        _PWD,
        _reader("ls", "Lists the names in the current directory alphabetically.", run.list_names),
        _reader(
            "stat",
            "Tells full path, type and size of a file or directory.",
            run.describe,
            path=text("Any path."),
        ),
        _reader("cat", "Gives the whole text of a file.", run.whole_text, file=_FILE),
        _reader(
            "head", "Gives the first lines of a file.", run.first_lines, file=_FILE, lines=_ENDS
        ),
        _reader("tail", "Gives the last lines of a file.", run.last_lines, file=_FILE, lines=_ENDS),
        _reader(
            "grep",
            "Gives the lines of a file that hold a piece of text.",
            run.matching_lines,
            file=_FILE,
            pattern=text("The text."),
        ),
        _reader(
            "line_at",
            "Gives one line of a file.",
            run.line_at,
            file=_FILE,
            number=whole("Which line, from 1."),
        ),
        _reader(
            "cut_column",
            "Gives one column of a file of records, from top to bottom; lines that are too short are left out.",
            run.column,
            file=_FILE,
            separator=text("What stands between two columns of a line."),
            position=whole("Which column, from 1."),
        ),
        _reader(
            "find_text",
            "Gives the full paths of the files, in a directory and below, whose text holds a piece of text.",
            run.files_holding,
            text=text("The piece of text."),
            folder=_HERE,
        ),
        _reader(
            "find",
            "Gives the full paths, in a directory and below, whose last name holds a piece of text.",
            run.matching_names,
            name=text("The piece of text."),
            folder=_HERE,
        ),
        _reader(
            "sort",
            "Gives the lines of a file ordered by character; the file stays as it is.",
            run.sorted_lines,
            file=_FILE,
            order=choice("Direction.", ("ascending", "descending"), default="ascending"),
        ),
        _reader("wc", "Counts lines, words and characters of a file.", run.count, file=_FILE),
        _reader(
            "diff",
            "Gives the lines that only one of two files has.",
            run.differing_lines,
            first=text("The earlier one, or the one to compare with."),
            second=text("The later one."),
        ),
        _reader(
            "du",
            "Tells the size of a directory and its names, the largest first.",
            run.sizes,
            folder=_HERE,
        ),
        _writer(
            "mkdir",
            "Makes a new directory.",
            run.make_directory,
            Effect.AT_MOST_ONCE,
            folder=_FOLDER,
        ),
        _writer(
            "touch",
            "Makes an empty file unless the name exists.",
            run.make_file,
            Effect.IDEMPOTENT,
            file=_FILE,
        ),
        # Appending twice is not appending once, and one tool has one effect class.
        _writer(
            "echo",
            "Writes a line of text to a file, which is made if missing.",
            run.write_line,
            Effect.AT_MOST_ONCE,
            text=text("The line."),
            file=_FILE,
            mode=choice(
                "Replace the file's text or add to its end.",
                ("overwrite", "append"),
                default="overwrite",
            ),
        ),
        _writer(
            "add_line",
            "Puts a line below the last one of a file that exists; tells how many lines there are then.",
            run.add_line,
            Effect.AT_MOST_ONCE,
            file=_FILE,
            text=text("The line."),
        ),
        _writer(
            "replace_text",
            "Writes one piece of text for another wherever a file has it; tells how often that was.",
            run.replace_text,
            Effect.AT_MOST_ONCE,  # the second time the old text is gone, or the new one holds it
            file=_FILE,
            old=text("What is to go."),
            new=text("What is to come."),
        ),
        _writer(
            "join_files",
            "Writes a new file that holds the text of two files; tells its full path, to be used from then on.",
            run.join_files,
            Effect.AT_MOST_ONCE,
            first=text("Path of the file whose text comes first."),
            second=text("Path of the file whose text follows."),
            destination=text("Path of the new file."),
        ),
        _writer(
            "mv",
            "Moves or renames a file or directory, into the destination if it is a directory; tells the full path "
            "that it has now, to be used from then on.",
            run.move,
            Effect.AT_MOST_ONCE,
            source=text("What to move."),
            destination=text("The directory to move it to; only for another name, the new path."),
        ),
        _writer(
            "cp",
            "Copies a file, into the destination if that is a directory; tells the full path of the copy, to be used "
            "from then on.",
            run.copy,
            Effect.AT_MOST_ONCE,
            source=_FILE,
            destination=text(
                "The directory that is to hold the copy; only for another name, the path of the copy."
            ),
        ),
        _writer("rm", "Deletes a file.", run.delete_file, Effect.AT_MOST_ONCE, file=_FILE),
        _writer(
            "rmdir",
            "Deletes an empty directory.",
            run.delete_directory,
            Effect.AT_MOST_ONCE,
            folder=_FOLDER,
        ),
    ),
)
