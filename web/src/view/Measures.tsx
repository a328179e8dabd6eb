// Measures over the image: their lines, points and texts.

import type { ReactNode } from "react";
import { isMeasureKind, linesOf, sizeOf } from "../geometry/measuring";
import { short, unitText, withUnit } from "../geometry/measures";
import type { Vector } from "../geometry/vector";
import type { Measure } from "../protocol";
import { sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";
import { percent, useProjection, type Projection } from "./projection";

const NO_POINTS: readonly Vector[] = [];

export function Measures(): ReactNode {
  const projection = useProjection();
  const scene = useSelect(sceneOf);
  const points = useSelect((state) => (state.measurePoints.length > 0 ? state.measurePoints : NO_POINTS));
  const tool = useSelect((state) => state.interface.tool);
  const unit = useSelect((state) => state.layers?.layers[0]?.unit ?? "");
  const measures = scene?.measures ?? [];
  if (!projection || (measures.length === 0 && points.length === 0)) return null;
  const begun = points.length > 0 && isMeasureKind(tool) ? { kind: tool === "area" ? ("polyline" as const) : tool, points } : null;
  return (
    <svg className="overlay measures" aria-hidden="true">
      {measures.map((measure, index) =>
        measure.is_visible ? (
          <g key={index}>
            <Lines lines={linesOf(measure, scene?.volumes[measure.layer]?.transform ?? null)} points={measure.points} projection={projection} />
            <Caption measure={measure} unit={unit} projection={projection} />
          </g>
        ) : null,
      )}
      {begun ? (
        <g className="is-begun">
          <Lines lines={begun.points.length > 1 ? linesOf(begun, null) : []} points={begun.points} projection={projection} />
        </g>
      ) : null}
    </svg>
  );
}

function Lines({ lines, points, projection }: { lines: [Vector, Vector][]; points: readonly Vector[]; projection: Projection }): ReactNode {
  return (
    <>
      {lines.map(([from, to], index) => {
        const [a, b] = [projection.place(from), projection.place(to)];
        if (a.depth <= 0 || b.depth <= 0) return null;
        const ends = { x1: percent(a.x), y1: percent(a.y), x2: percent(b.x), y2: percent(b.y) };
        return (
          <g key={index}>
            <line className="halo" {...ends} />
            <line {...ends} />
          </g>
        );
      })}
      {points.map((point, index) => {
        const at = projection.place(point);
        return at.depth > 0 ? <circle key={index} cx={percent(at.x)} cy={percent(at.y)} r={4} /> : null;
      })}
    </>
  );
}

function Caption({ measure, unit, projection }: { measure: Measure; unit: string; projection: Projection }): ReactNode {
  const anchors = measure.points.map((point) => projection.place(point)).filter((one) => one.depth > 0);
  if (anchors.length === 0) return null;
  const middle = (part: "x" | "y"): number => anchors.reduce((sum, one) => sum + one[part], 0) / anchors.length;
  return (
    <text x={percent(middle("x"))} y={percent(middle("y"))} dy={-9}>
      {[measure.name, measure.kind === "note" ? measure.text : sizeText(measure, unit)].filter(Boolean).join(": ")}
    </text>
  );
}

/** The size of a measure in words. */
export function sizeText(measure: Pick<Measure, "kind" | "points">, unit: string): string {
  const { length, angleDeg, area } = sizeOf(measure);
  if (angleDeg !== null) return `${short(angleDeg)}°`;
  if (area !== null) return `${short(area)} ${unit ? `${unitText(unit)}²` : ""}`.trim();
  if (length !== null) return `${measure.kind === "sphere" ? "radius " : ""}${withUnit(length, unit)}`;
  return "";
}
