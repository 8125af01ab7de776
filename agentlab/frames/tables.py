"""The tables by name: what every row is, and every column with unit and source."""

from __future__ import annotations

from .schema import Table
from .tables_audit import AUDIT
from .tables_browser import BROWSER
from .tables_exec import EXEC
from .tables_memory import MEMORY, PROCESSES
from .tables_model import CHUNKS, REQUESTS
from .tables_page import PAGE
from .tables_run import EVENTS, ISSUES, PRESSURE, RUNS
from .tables_talk import SESSIONS, TOOLS, TURNS

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        RUNS,
        ISSUES,
        SESSIONS,
        TURNS,
        REQUESTS,
        CHUNKS,
        TOOLS,
        EVENTS,
        PRESSURE,
        MEMORY,
        PROCESSES,
        EXEC,
        PAGE,
        *BROWSER,
        AUDIT,
    )
}
