"""The driver of tests that cut the power of a drive, again and again."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from openpts.errors import DataLossError
from openpts.procedures.kit.procedure import Procedure
from openpts.record.manifest import Manifest
from openpts.record.reader import read_manifest
from openpts.runner.device_under_test import DeviceUnderTest
from openpts.runner.driver import Driver, Engine
from openpts.runner.events import PowerWasCut
from openpts.runner.script_runner import ScriptRunner
from openpts.vocabulary.consent import Consent
from openpts.vocabulary.power_cut import Cut, CutPower
from openpts.vocabulary.requests import DriverRequest, Script
from openpts_app.drivers.power_cut.cutter import PowerCutter, cutter_of
from openpts_app.returning_drive import returning_device


class PowerCutDriver(Driver):
    """Carries out CutPower, and no steps: no figure of speed is asked of the drive."""

    depends_on_scale = False
    drive_stays = False

    def __init__(self, test: Procedure) -> None:
        super().__init__(test)
        self._cuts: list[Cut] = []

    def opened(self, target: str, consent: Consent, run_id: str) -> AbstractContextManager[DeviceUnderTest]:
        """See the base; a drive that exists can be opened again after its power was cut."""
        return returning_device(target, consent, run_id)

    def check(self, script: Script, device: DeviceUnderTest) -> None:
        """See the base: the script begins with a power cut, and has the same load in all of them."""
        request = next(script)
        assert isinstance(request, CutPower)  # noqa: S101 it is that of such a test
        self._cutter: PowerCutter = cutter_of(device, request.load, request.command)

    def engine(self, of_device: Engine) -> Engine:
        """See the base: steps are only for the plan."""
        del of_device
        return nullcontext(self._cutter.writers)

    def answer(self, request: DriverRequest, runner: ScriptRunner) -> Cut:
        """Set the cache, which a drive may forget with its power, and cut; the record has all cuts."""
        assert isinstance(request, CutPower)  # noqa: S101 the scripts of such tests ask for nothing else
        report, deviations = runner.preparation.write_cache(request.write_cache_enabled)
        if not self._cuts or self._cuts[-1].write_cache != report.actual:
            runner.keep_write_cache(report, deviations)
        cut = self._cutter.cut(request, report)
        self._cuts.append(cut)
        runner.writer.update_manifest(cuts=self._cuts)
        runner.emit(PowerWasCut(cut))
        return cut

    def unresumable(self, manifest: Manifest) -> str:
        """See the base."""
        return (
            "only the process that was cut off knew what its drive had acknowledged; "
            f"{len(manifest.cuts):,} cuts are in its report, run the test again"
        )

    def end(self, folder: Path) -> None:
        """Raise DataLossError if the drive of a run lost what had to survive, so that scripts see it."""
        cuts = read_manifest(folder).cuts
        if accused := sum(cut.accused for cut in cuts):
            raise DataLossError(
                f"the drive lost data in {accused} of {len(cuts)} power cuts; see the report on {folder}"
            )
