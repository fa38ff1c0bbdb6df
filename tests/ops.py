"""The op table: every row drives eager, graph, jit and on-demand execution (test_ops.py)."""

import ops_array
import ops_math
import ops_nn
import ops_reduce
from rows import Row, check_table

ROWS: tuple[Row, ...] = (*ops_math.ROWS, *ops_reduce.ROWS, *ops_array.ROWS, *ops_nn.ROWS)
BY_OP = {row.op: row for row in ROWS}

# Registered natively, tested elsewhere because a row cannot say it: op -> test file.
ELSEWHERE: dict[str, str] = {}

problems = list(check_table(ROWS))
if problems:
    raise AssertionError("\n".join(problems))
