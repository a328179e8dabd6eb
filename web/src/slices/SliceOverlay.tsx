// What is drawn over a slice: the cross-hair, measures, a scale bar, the directions of its edges.

import type { ReactNode } from "react";
import { letterOf } from "../geometry/directions";
import { isMeasureKind, linesOf } from "../geometry/measuring";
import { roundLength, withUnit } from "../geometry/measures";
import { onSlice, voxelInWorld } from "../geometry/slicePlace";
import { inPanel, pixelsPerUnit, type Region, type Size } from "../geometry/sliceView";
import type { Vector } from "../geometry/vector";
import type { SliceRectangle } from "../protocol";
import { sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";
import { sizeText } from "../view/Measures";
import { percent } from "../view/projection";
import type { ShownSlice } from "./shownSlice";

const MAX_LENGTH = 0.3;
/** CSS pixels: a smaller panel has no room for a scale bar and letters. */
const ROOMY = 190;

interface OverlayProps {
  slice: ShownSlice;
  region: Region;
  size: Size;
  extent: Size;
}

export function SliceOverlay({ slice, region, size, extent }: OverlayProps): ReactNode {
  const place = useSelect((state) => state.sliceHeaders[slice.axis]?.place ?? null);
  const isRoomy = Math.min(size.width, size.height) >= ROOMY;
  return (
    <>
      {place ? (
        <svg className="overlay slice-overlay" aria-hidden="true">
          <CrossHair slice={slice} place={place} region={region} />
          <SliceMeasures slice={slice} place={place} region={region} />
        </svg>
      ) : null}
      {isRoomy && place ? <Letters slice={slice} place={place} /> : null}
      {isRoomy && place ? <SliceScale slice={slice} place={place} size={size} extent={extent} /> : null}
    </>
  );
}

function CrossHair({ slice, place, region }: { slice: ShownSlice; place: SliceRectangle; region: Region }): ReactNode {
  const position = useSelect((state) => {
    const layer = state.crossHair?.layer ?? 0;
    const [volume, description] = [sceneOf(state)?.volumes[layer], state.layers?.layers[layer]];
    return volume && description ? voxelInWorld(description, volume.transform, slice.voxel).join() : "";
  });
  if (position === "") return null;
  const [x = 0, y = 0, z = 0] = position.split(",").map(Number);
  const { u, v } = onSlice(place, [x, y, z]);
  const [left, top] = inPanel(region, u, v);
  const [across, along] = slice.axis === "oblique" ? ["oblique", "oblique"] : axesInside(slice);
  return (
    <g>
      <line className={`is-${across}`} x1={percent(left)} x2={percent(left)} y1="0" y2="100%" />
      <line className={`is-${along}`} x1="0" x2="100%" y1={percent(top)} y2={percent(top)} />
    </g>
  );
}

/** The axes to the right and downwards. */
function axesInside({ axis, description }: ShownSlice): [string, string] {
  const plane = description.planes[["z", "y", "x"].indexOf(axis)];
  return [plane?.right.slice(-1) ?? "x", plane?.down.slice(-1) ?? "y"];
}

/** Measures that lie in the slice, or so near that they are in its thickness. */
function SliceMeasures({ slice, place, region }: { slice: ShownSlice; place: SliceRectangle; region: Region }): ReactNode {
  const scene = useSelect(sceneOf);
  const begun = useSelect((state) => state.measurePoints);
  const tool = useSelect((state) => state.interface.tool);
  const unit = useSelect((state) => state.layers?.layers[0]?.unit ?? "");
  const reach = slice.options.thickness / 2 + 0.01;
  const isNear = (points: readonly Vector[]): boolean => points.every((point) => Math.abs(onSlice(place, point).away) <= reach);
  const at = (point: Vector): { x: string; y: string } => {
    const { u, v } = onSlice(place, point);
    const [x, y] = inPanel(region, u, v);
    return { x: percent(x), y: percent(y) };
  };
  const lines = (all: [Vector, Vector][]): ReactNode =>
    all.map(([from, to], number) => {
      const [a, b] = [at(from), at(to)];
      return <line key={number} x1={a.x} y1={a.y} x2={b.x} y2={b.y} />;
    });
  const dots = (points: readonly Vector[]): ReactNode => points.map((point, number) => <circle key={number} cx={at(point).x} cy={at(point).y} r={3.5} />);
  return (
    <g className="measures">
      {scene?.measures.map((measure, index) => {
        const first = measure.points[0];
        if (!measure.is_visible || !first || !isNear(measure.points)) return null;
        const { x, y } = at(first);
        return (
          <g key={index}>
            {lines(linesOf(measure, scene.volumes[measure.layer]?.transform ?? null))}
            {dots(measure.points)}
            <text x={x} y={y} dy={-8}>
              {[measure.name, measure.kind === "note" ? measure.text : sizeText(measure, unit)].filter(Boolean).join(": ")}
            </text>
          </g>
        );
      })}
      {begun.length > 0 && isMeasureKind(tool) && isNear(begun) ? (
        <g className="is-begun">
          {lines(begun.length > 1 ? linesOf({ kind: tool === "area" ? "polyline" : tool, points: begun }, null) : [])}
          {dots(begun)}
        </g>
      ) : null}
    </g>
  );
}

/** Where the edges of a slice are: the sides of a patient where the file knows them, otherwise the axes. */
function Letters({ slice, place }: { slice: ShownSlice; place: SliceRectangle }): ReactNode {
  const directions = [place.right, place.down] as const;
  const [right, down] = directions.map((direction) => letterOf(direction, slice.volume.transform, slice.description.axis_code));
  if (!right || !down) return null;
  return (
    <div className="slice-letters" aria-label="Directions">
      <span className="is-right">{right.ahead}</span>
      <span className="is-left">{right.behind}</span>
      <span className="is-bottom">{down.ahead}</span>
      <span className="is-top">{down.behind}</span>
    </div>
  );
}

function SliceScale({ slice, place, size, extent }: Omit<OverlayProps, "region"> & { place: SliceRectangle }): ReactNode {
  const unit = useSelect((state) => state.layers?.layers[0]?.unit ?? "");
  const zoom = useSelect((state) => state.interface.sliceZoom[slice.axis]);
  // Of an oblique slice the extent is that of a square of size 1.
  const world = slice.axis === "oblique" ? Math.hypot(...place.right) : 1;
  const scale = pixelsPerUnit(zoom, size, extent) / world;
  const length = roundLength((size.width * MAX_LENGTH) / scale);
  return (
    <div className="scale-bar slice-scale" aria-hidden="true">
      <div style={{ width: `${(length * scale).toFixed(1)}px` }} />
      <span className="number grows">{withUnit(length, unit)}</span>
    </div>
  );
}
