// Measured distances over the image.

import type { ReactNode } from "react";
import { withUnit } from "../geometry/measures";
import { distance } from "../geometry/vector";
import { useSelect } from "../state/store";
import { percent, useProjection } from "./projection";

export function Measures(): ReactNode {
  const projection = useProjection();
  const measures = useSelect((state) => state.measures);
  const start = useSelect((state) => state.measureStart);
  const unit = useSelect((state) => state.layers?.layers[0]?.unit ?? "");
  if (!projection || (measures.length === 0 && !start)) return null;
  const begun = start ? projection.place(start) : null;
  return (
    <svg className="overlay measures" aria-hidden="true">
      {measures.map((measure) => {
        const [a, b] = [projection.place(measure.start), projection.place(measure.stop)];
        if (a.depth <= 0 || b.depth <= 0) return null;
        return (
          <g key={measure.id}>
            <line className="halo" x1={percent(a.x)} y1={percent(a.y)} x2={percent(b.x)} y2={percent(b.y)} />
            <line x1={percent(a.x)} y1={percent(a.y)} x2={percent(b.x)} y2={percent(b.y)} />
            <circle cx={percent(a.x)} cy={percent(a.y)} r={4} />
            <circle cx={percent(b.x)} cy={percent(b.y)} r={4} />
            <text x={percent((a.x + b.x) / 2)} y={percent((a.y + b.y) / 2)} dy={-8}>
              {withUnit(distance(measure.start, measure.stop), unit)}
            </text>
          </g>
        );
      })}
      {begun && begun.depth > 0 ? <circle className="is-begun" cx={percent(begun.x)} cy={percent(begun.y)} r={5} /> : null}
    </svg>
  );
}
