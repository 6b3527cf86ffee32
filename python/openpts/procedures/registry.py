"""The tests of the practice beyond the specification, and all tests that openpts knows."""

from collections.abc import Mapping
from typing import Final

from openpts.procedures.extended.benchmarks import script as profile
from openpts.procedures.extended.entropy import script as entropy
from openpts.procedures.extended.fill import script as fill
from openpts.procedures.extended.hdd import script as rotational
from openpts.procedures.extended.lifetime import script as lifetime
from openpts.procedures.extended.precon import script as precon
from openpts.procedures.extended.sustained import script as sustained
from openpts.procedures.extended.thermal import script as thermal
from openpts.procedures.kit.procedure import TestDefinition
from openpts.procedures.pts.registry import TESTS

_TESTS: Final[tuple[TestDefinition, ...]] = (
    TestDefinition(
        name="fill",
        title="Fill Curve",
        section=None,
        standard_conditions=fill.standard_conditions,
        script=fill.fill_test,
    ),
    TestDefinition(
        name="sustained",
        title="Sustained Performance",
        section=None,
        standard_conditions=sustained.standard_conditions,
        script=sustained.sustained_test,
    ),
    TestDefinition(
        name="entropy",
        title="Entropy and Write Share",
        section=None,
        standard_conditions=entropy.standard_conditions,
        script=entropy.entropy_test,
    ),
    TestDefinition(
        name="benchmarks",
        title="Benchmark Profiles",
        section=None,
        standard_conditions=profile.standard_conditions,
        script=profile.benchmarks_test,
        possible_on=profile.possible_on,
    ),
    TestDefinition(
        name="precon",
        title="Preconditioning Comparison",
        section=None,
        standard_conditions=precon.standard_conditions,
        script=precon.precon_test,
        possible_on=precon.possible_on,
    ),
    TestDefinition(
        name="thermal",
        title="Thermal Throttling",
        section=None,
        standard_conditions=thermal.standard_conditions,
        script=thermal.thermal_test,
    ),
    TestDefinition(
        name="lifetime",
        title="Lifetime",
        section=None,
        standard_conditions=lifetime.standard_conditions,
        script=lifetime.lifetime_test,
        without_data=lifetime.without_data,
    ),
    TestDefinition(
        name="hdd",
        title="Rotational Disk by Zones",
        section=None,
        standard_conditions=rotational.standard_conditions,
        script=rotational.rotational_test,
        purges=False,
    ),
)

PRACTICE_TESTS: Final[Mapping[str, TestDefinition]] = {test.name: test for test in _TESTS}

ALL_TESTS: Final[Mapping[str, TestDefinition]] = {**TESTS, **PRACTICE_TESTS}
