// The feature grids of a neural field in training, as boxes over its preview. Here: drawing them. Not here: how far it is (shell/StatusLine.tsx).

import type { ReactNode } from "react";
import { EDGES } from "../geometry/clipping";
import { centresOf } from "../geometry/extent";
import { placed } from "../geometry/transform";
import type { Vector } from "../geometry/vector";
import { sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";
import { percent, useProjection } from "./projection";

const COLORS = 8;

export function TrainingBoxes(): ReactNode {
  const grids = useSelect((state) => state.training?.grids ?? null);
  const layer = useSelect((state) => sceneOf(state)?.volumes[0] ?? null);
  const description = useSelect((state) => state.layersOf.main?.layers[0] ?? null);
  const projection = useProjection();
  if (!grids || !layer || !description || !projection) return null;
  const { low, high } = centresOf(description);
  const inWorld = (corner: Vector): Vector => {
    const at = (axis: 0 | 1 | 2): number => low[axis] + ((corner[axis] + 1) / 2) * (high[axis] - low[axis]);
    return placed(layer.transform, [at(0), at(1), at(2)]);
  };
  return (
    <svg className="overlay training" aria-label="Grids in training" role="img">
      {grids.map((corners, number) => {
        const seen = corners.map((corner) => projection.place(inWorld(corner)));
        return (
          // Grids have no names: the index identifies them.
          <g key={number} className={`grid-box is-${number % COLORS}`}>
            {EDGES.map(([from, to]) => {
              const [a, b] = [seen[from], seen[to]];
              return a && b && a.depth > 0 && b.depth > 0 ? <line key={`${from}-${to}`} x1={percent(a.x)} y1={percent(a.y)} x2={percent(b.x)} y2={percent(b.y)} /> : null;
            })}
          </g>
        );
      })}
    </svg>
  );
}
