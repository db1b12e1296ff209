"""Outcomes that other tools recorded, as runs that get the same report."""

from passhat.importing._errors import TableError
from passhat.importing._table import ImportedTable, read_table

__all__ = ["ImportedTable", "TableError", "read_table"]
