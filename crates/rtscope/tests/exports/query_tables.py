"""Reads a folder of tables with DuckDB and with Arrow; prints what came of it as JSON.

    query_tables.py FOLDER DOCUMENT

Runs each query of DOCUMENT (blocks of `sql` below a heading) in FOLDER.
"""

import json
import os
import re
import sys

import duckdb
import pyarrow.parquet

folder, document = sys.argv[1:]
with open(document, encoding="utf-8") as file:
    text = file.read()
os.chdir(folder)
queries = re.findall(r"^### (.+?)\n+```sql\n(.*?)```", text, re.MULTILINE | re.DOTALL)
assert text.count("```sql") == len(queries)

database = duckdb.connect()
tables = {}
for name in sorted(os.listdir(".")):
    arrow = pyarrow.parquet.read_table(name)
    arrow.validate(full=True)
    metadata = {key.decode(): value.decode() for key, value in (arrow.schema.metadata or {}).items()}
    assert metadata["rtscope.schema"] == "rtscope/tables/1", metadata
    rows = database.execute(f"SELECT count(*) FROM '{name}'").fetchone()[0]
    assert rows == arrow.num_rows, name
    # Both readers read the same values.
    for column, kind in zip(arrow.column_names, arrow.schema.types):
        if str(kind) == "int64":
            total = database.execute(f'SELECT sum("{column}"::HUGEINT) FROM \'{name}\'').fetchone()[0]
            assert total == (sum(value for value in arrow[column].to_pylist() if value is not None) if total is not None else None)
    nulls = {column: arrow[column].null_count for column in arrow.column_names}
    may = {field.name for field in arrow.schema if field.nullable}
    assert all(count == 0 or column in may for column, count in nulls.items()), nulls
    tables[name.removesuffix(".parquet")] = {"rows": rows, "columns": arrow.column_names, "nullable": sorted(may)}

answers = {}
for title, query in queries:
    found = database.execute(query)
    columns = [column[0] for column in found.description]
    answers[title] = [dict(zip(columns, row)) for row in found.fetchall()]

print(json.dumps({"tables": tables, "answers": answers}, default=float))
