"""The gauges of plug-ins: a broken one is not sampled, and the record says why."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from openpts.errors import PluginError
from openpts.gauge import Gauge, Values, name_word
from openpts.hooks import Concern, RunContext
from openpts.plugins import Kind, Offer, calling, load, offers


class PluginGauges(Concern):
    """None for a simulated drive, whose time is not the host's."""

    def gauges(self, run: RunContext) -> Iterable[Gauge]:
        """What all installed plug-ins sample."""
        found = {} if run.is_simulated else offers(Kind.GAUGE)
        return tuple(gauge for offer in found.values() for gauge in _gauges(offer))


def _gauges(offer: Offer) -> tuple[Gauge, ...]:
    try:
        made = load(offer)
        with calling(offer):
            return tuple(_confined(offer, gauge) for gauge in made())
    except PluginError as error:
        return (Gauge(offer.name, None, str(error)),)


def _confined(offer: Offer, gauge: Gauge) -> Gauge:
    """The gauge under the plug-in's name, so that no value passes for one of openpts, in this run alone."""
    for path in gauge.paths:
        if path.is_block_device() or path.is_char_device():
            raise offer.error("refused:", f"{path} is a device, and only the guard opens one")

    def understand(contents: Sequence[bytes], at_ns: int) -> Values:
        try:
            values = gauge.understand(contents, at_ns)
            return {f"{name_word(offer.name)}_{name}": float(value) for name, value in values.items()}
        except Exception:  # noqa: BLE001 of one that fails there are no values, of all others there are
            return {}

    name = f"{offer.name}: {gauge.name}"
    return replace(gauge, name=name, understand=understand, of_host=False, for_all=False)
