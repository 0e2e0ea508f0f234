"""Databases of PostgreSQL as plain SQL: one file with the tables, and one per case with the rows.

Small files that stood beside the database are comments at the head of a dump.
"""

import json
import re
import socket
import subprocess
from pathlib import Path

import psycopg

from tests.support.postgres import binaries

SCHEMA = "schema.sql"
_FILE = "-- file "
_NOISE = re.compile(r"^(--.*|\\.*|SET .*|SELECT pg_catalog\.set_config.*|)\n", re.MULTILINE)
"""Comments, commands of psql, and settings that belong to the server's release."""


def dump_schema(url: str, target: Path) -> None:
    """Write down the tables of a database."""
    target.write_text(_dumped(url, "--schema-only"), encoding="utf-8")


def dump(url: str, folder: Path, target: Path) -> None:
    """Write down the rows of a database, and the files of a folder."""
    files = [
        f"{_FILE}{each.name} {json.dumps(each.read_text('utf-8'))}\n"
        for each in sorted(folder.iterdir())
    ]
    rows = _dumped(url, "--data-only", "--inserts").replace(socket.gethostname(), "maker")
    target.write_text("".join(files) + rows, encoding="utf-8")


def load(schema: Path, rows: Path, url: str, folder: Path) -> None:
    """Fill an empty database and an empty folder."""
    text = rows.read_text("utf-8")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(schema.read_bytes())
        connection.execute(text.encode())
        # Else a server that has just been started, as for these tests alone, would have freed their locks.
        connection.execute("UPDATE asyncguard.processes SET started_at = extract(epoch FROM now())")
    for line in text.splitlines():
        if line.startswith(_FILE):
            name, _, content = line.removeprefix(_FILE).partition(" ")
            (folder / name).write_text(json.loads(content), encoding="utf-8")


def _dumped(url: str, *options: str) -> str:
    tools = binaries()
    assert tools is not None, "PostgreSQL is not installed"
    command: list[Path | str] = [
        tools / "pg_dump",
        "--no-owner",
        "--no-privileges",
        "--no-comments",
        *options,
        url,
    ]
    return _NOISE.sub(
        "", subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
