"""``pellucid info``: describe a volume or a scan.

Here: gathering the facts and printing them as text or JSON.
Not here: finding them (volume, tomo).
"""

import argparse
import json
from dataclasses import replace
from math import isfinite
from typing import Any

from pellucid.cli.arguments import add_source, source_location
from pellucid.errors import DatasetAmbiguous, InvalidInput, UnknownFormat
from pellucid.formats.deadline import within_limit
from pellucid.formats.location import Location
from pellucid.formats.neural_field.format import neural_facts
from pellucid.formats.orientation import Orientation, at_level, describe_orientation
from pellucid.formats.protocol import Header, Level, check_location
from pellucid.formats.registry import recognise
from pellucid.printable import printable
from pellucid.progress import amount
from pellucid.tomo.scan_files.registry import is_scan, open_scan
from pellucid.tomo.scan_files.scan_facts import scan_facts
from pellucid.volume.series import open_series
from pellucid.volume.volume import open_volume


def add_parser(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = commands.add_parser("info", help="describe a volume or a scan: shape, type, spacing, angles")
    add_source(parser)
    parser.add_argument(
        "--statistics", action="store_true", help="include value range and percentiles (reads all voxels)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    report(source_location(options), with_statistics=options.statistics, as_json=options.json)
    return 0


def report(location: Location, *, with_statistics: bool = False, as_json: bool = False) -> None:
    """Print what is at a location: one volume, every volume of a file that holds several, and a scan's geometry."""
    locations, found, scan = within_limit(location.path, lambda: _gathered(location))
    if with_statistics:
        found = [facts | _statistics(one) for one, facts in zip(locations, found, strict=True)]
    if as_json:
        volumes = found if len(found) != 1 else found[0]
        print(json.dumps({"scan": scan, "volumes": found} if scan else volumes, indent=2))
    else:
        print("\n".join([*([_scan_text(scan)] if scan else []), *map(_text, found)]))


def _gathered(location: Location) -> tuple[list[Location], list[dict[str, Any]], dict[str, Any] | None]:
    """Every volume with its facts, and those of the scan where it is one; no voxel is read."""
    scan = _scan(location) if is_scan(location) else None
    locations = _volumes(location, is_scan=scan is not None)
    return locations, [_facts(one) for one in locations], scan


def _scan(location: Location) -> dict[str, Any]:
    """The geometry of a scan, or what it lacks."""
    try:
        scan = open_scan(location)
    except InvalidInput as error:
        return {"name": str(location), "scan": "incomplete", "lacks": str(error)}
    try:
        return scan_facts(scan)
    finally:
        scan.close()


def _scan_text(facts: dict[str, Any]) -> str:
    rows = [("scan", facts["scan"])]
    if "lacks" in facts:
        rows.append(("lacks", facts["lacks"]))
        return _table(facts["name"], rows)
    first, last = facts["first_angle_deg"], facts["last_angle_deg"]
    pixel = f"{facts['pixel_size_um']:g} um" if facts["pixel_size_um"] else "not stated"
    rows += [
        ("projections", f"{facts['projections']} of {facts['columns']} x {facts['rows']} pixels, {facts['dtype']}"),
        ("angles", f"{first:g} to {last:g} degrees, steps of {facts['step_deg']:.4g}, {facts['span_deg']:.4g} in all"),
        ("flats", _frames_text(facts["flat_groups"])),
        ("darks", _frames_text(facts["dark_groups"])),
        ("pixel size", pixel),
        (
            "axis",
            f"column {axis:g}"
            if (axis := facts["axis_column"]) is not None
            else "not stated; found when reconstructing",
        ),
        *(("assumed", text) for text in facts["assumptions"]),
    ]
    return _table(facts["name"], rows)


def _frames_text(groups: list[tuple[str, int]]) -> str:
    """How many frames were taken when.

    >>> _frames_text([("before", 10), ("after", 5)])
    '10 before and 5 after the projections'
    """
    if not groups:
        return "none"
    if [when for when, _ in groups] == ["before"]:  # Also where nothing says when they were taken.
        return f"{groups[0][1]}"
    return f"{' and '.join(f'{count} {when}' for when, count in groups)} the projections"


def _volumes(location: Location, *, is_scan: bool) -> list[Location]:
    """What can be opened as a volume; a scan may lie in several folders, of which none is one."""
    try:
        open_series(location).close()
    except UnknownFormat:
        if not is_scan:
            raise
        return []
    except DatasetAmbiguous as error:
        if not error.names:
            raise
        return [replace(location, dataset=name) for name in error.names]
    return [location]


def _facts(location: Location) -> dict[str, Any]:
    with open_series(location) as series:
        return describe(location, series.header)


def describe(location: Location, header: Header) -> dict[str, Any]:
    """The facts of a header, as plain values."""
    check_location(location, header)
    kind = recognise(location)
    full = header.levels[location.number("level") or 0]
    return {
        "name": str(location),
        "format": kind,
        "shape": list(full.shape),
        "dtype": header.dtype.name,
        "bytes": full.shape[0] * full.shape[1] * full.shape[2] * header.dtype.itemsize,
        "spacing": list(full.spacing),
        "unit": header.unit,
        "times": header.times,
        "channels": header.channels,
        "chunk": list(full.chunk),
        "codec": header.codec,
        "orientation": describe_orientation(_orientation(header, full)),
        "levels": [list(level.shape) for level in header.levels],
        **(neural_facts(location) if kind == "neural" else {}),
    }


def _orientation(header: Header, level: Level) -> Orientation | None:
    return at_level(header.orientation, header.levels[0].spacing, level.spacing)


def _statistics(location: Location) -> dict[str, Any]:
    with open_volume(location) as volume:
        found, missing = volume.percentiles(1, 50, 99), volume.non_finite()
        return {
            "value_range": list(map(_number, volume.value_range)),
            "percentiles": {str(percent): _number(value) for percent, value in found.values.items()},
            "percentile_tolerance": found.tolerance,
            "nan_count": missing.nan,
            "infinite_count": missing.infinite,
        }


def _number(value: float) -> float | None:
    return value if isfinite(value) else None  # JSON has no NaN: a volume without any value.


def _text(facts: dict[str, Any]) -> str:
    rows = [
        ("format", f"{facts['format']}{', ' + facts['codec'] if facts['codec'] else ''}"),
        ("shape", f"{_times(facts['shape'])} (z, y, x), {facts['dtype']}, {amount(facts['bytes'], 'B')}"),
        ("spacing", f"{_times(facts['spacing'])} {facts['unit']}".rstrip() + " (z, y, x)"),
        ("chunks", f"{_times(facts['chunk'])} (z, y, x)"),
    ]
    if facts["orientation"]:
        rows.append(("orientation", facts["orientation"]))
    if facts["times"] * facts["channels"] > 1:
        rows.append(("series", f"time steps: {facts['times']}, channels: {facts['channels']}; choose by :t=0,c=0"))
    if len(facts["levels"]) > 1:
        rows.append(("levels", ", ".join(_times(shape) for shape in facts["levels"]) + " (z, y, x)"))
    if "parameters" in facts:
        rows += _neural_rows(facts)
    if "value_range" in facts:
        low, high = facts["value_range"]
        rows.append(("values", "none" if low is None else f"{low:g} to {high:g}"))
        if low is not None:
            tolerance = f" (± {facts['percentile_tolerance']:.2g})" if facts["percentile_tolerance"] else ""
            values = ", ".join(f"{percent} %: {value:g}" for percent, value in facts["percentiles"].items())
            rows.append(("percentiles", f"{values}{tolerance}"))
        counts = (("NaN", facts["nan_count"]), ("infinite", facts["infinite_count"]))
        missing = [f"{count:,} voxels are {what}" for what, count in counts if count]
        rows += [("not finite", f"{', '.join(missing)}; they are left out of the statistics")] if missing else []
    return _table(facts["name"], rows)


def _neural_rows(facts: dict[str, Any]) -> list[tuple[str, str]]:
    fields = f"{facts['fields']} fields, " if facts["fields"] > 1 else ""
    size = f"{facts['compression_ratio']:.4g} : 1, {amount(facts['file_bytes'], 'B')}"
    if facts["residual_bytes"]:
        size += f", of which the residual is {amount(facts['residual_bytes'], 'B')}"
    rows = [("model", f"{facts['model']}, {fields}{facts['parameters']:,} parameters"), ("compression", size)]
    if facts["max_error"] is not None:
        rows.append(("max error", f"{facts['max_error']:g}"))
    if facts["quality"]:
        rows.append(("quality", ", ".join(f"{name} {value:.5g}" for name, value in sorted(facts["quality"].items()))))
    return rows


def _table(name: str, rows: list[tuple[str, str]]) -> str:
    return printable("\n".join([name, *(f"  {key:<12}{value}" for key, value in rows)]))


def _times(numbers: list[float]) -> str:
    return " × ".join(f"{number:g}" for number in numbers)
