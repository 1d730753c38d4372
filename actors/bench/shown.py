"""A report as tables, for whoever plays a composer of their own from Python."""

from greenroom.actors.bench.report import Report
from greenroom.protocol.errors import ExtraMissing


def show(report: Report) -> None:
    """Print a report as ``python -m greenroom.actors.bench`` does, in 80 columns.

    Raises:
        ExtraMissing: the tables need rich, of the extra ``cli``.
    """
    try:
        # Both need the extra, and whoever only measures does not.
        from greenroom.actors.bench.showing import print_report  # noqa: PLC0415
        from greenroom.actors.cli.words import console  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ExtraMissing("The tables need rich: pip install 'greenroom[cli]'.") from error
    print_report(console(), report)
