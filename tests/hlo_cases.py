"""All HLO cases. Every row runs fused, unfused and through XLA's evaluator; see test_hlo.py."""

from hlo_arrays import array_cases
from hlo_case import Case
from hlo_elementwise import elementwise_cases
from hlo_graphs import graph_cases
from hlo_indexed import indexed_cases


def all_cases() -> list[Case]:
    return elementwise_cases() + array_cases() + indexed_cases() + graph_cases()
