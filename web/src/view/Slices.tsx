// Three slices through one voxel. Here: their images, the cross-hair that joins them. Not here: cutting them (the instance).

import { useEffect, useRef, useState, type PointerEvent, type ReactNode } from "react";
import { directionsOf, NAMES, placeOf, stepped, voxelAt, type Voxel } from "../geometry/slices";
import type { Axis, LayerDescription, SlicePlane } from "../protocol";
import { useSession } from "../session/session";
import { canControl } from "../state/selectors";
import { useSelect } from "../state/store";
import { percent } from "./projection";

const STEP_PIXELS = 40;

export function Slices(): ReactNode {
  const crossHair = useSelect((state) => state.crossHair);
  const layer = useSelect((state) => state.layers?.layers[state.crossHair?.layer ?? 0] ?? null);
  if (!crossHair?.voxel || !layer) return null;
  return (
    <aside className="slices" aria-label="Slices">
      {NAMES.map((axis, order) => (
        <Slice key={axis} axis={axis} plane={layer.planes[order] ?? layer.planes[0]} voxel={crossHair.voxel ?? [0, 0, 0]} layer={layer} index={crossHair.layer} />
      ))}
    </aside>
  );
}

interface SliceProps {
  axis: Axis;
  plane: SlicePlane;
  voxel: Voxel;
  layer: LayerDescription;
  index: number;
}

function Slice({ axis, plane, voxel, layer, index }: SliceProps): ReactNode {
  const session = useSession();
  const mayControl = useSelect(canControl);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [isHeld, setHeld] = useState(false);
  const directions = directionsOf(plane);
  const { across, right, upright } = directions;
  const cut = (next: Voxel): void => {
    if (mayControl) session.cut(next, index);
  };
  useEffect(() => (canvas.current ? session.painter.attach(axis, canvas.current) : undefined), [session, axis]);
  const aim = (event: PointerEvent): void => {
    const frame = event.currentTarget.getBoundingClientRect();
    const [u, v] = [(event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height];
    cut(voxelAt(directions, u, v, voxel, layer.shape));
  };
  const width = (layer.shape[right] ?? 1) * (layer.spacing[right] ?? 1);
  const height = (layer.shape[upright] ?? 1) * (layer.spacing[upright] ?? 1);
  const { u, v } = placeOf(directions, voxel, layer.shape);
  const position = voxel[across] ?? 0;
  const last = (layer.shape[across] ?? 1) - 1;
  return (
    <div className={`slice is-${axis}`}>
      <div className="slice-frame">
        <div
          className="slice-image"
          style={{ aspectRatio: `${width} / ${height}`, "--ratio": width / height } as React.CSSProperties}
          role="slider"
          tabIndex={0}
          aria-label={`Slice across ${axis}`}
          aria-valuemin={0}
          aria-valuemax={last}
          aria-valuenow={position}
          onKeyDown={(event) => {
            const way = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
            if (way === undefined) return;
            event.preventDefault();
            cut(stepped(directions, voxel, way, layer.shape));
          }}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            setHeld(true);
            aim(event);
          }}
          onPointerMove={(event) => (isHeld ? aim(event) : undefined)}
          onPointerUp={() => setHeld(false)}
          onPointerCancel={() => setHeld(false)}
          onWheel={(event) => cut(stepped(directions, voxel, Math.round(-event.deltaY / STEP_PIXELS) || -Math.sign(event.deltaY), layer.shape))}
        >
          <canvas ref={canvas} />
          <svg aria-hidden="true">
            <line className={`is-${nameOf(right)}`} x1={percent(u)} x2={percent(u)} y1="0" y2="100%" />
            <line className={`is-${nameOf(upright)}`} x1="0" x2="100%" y1={percent(v)} y2={percent(v)} />
          </svg>
        </div>
      </div>
      <span className="slice-name number grows">
        <b>{axis}</b> {position} <span className="hint">/ {last}</span>
      </span>
    </div>
  );
}

const nameOf = (order: number): string => ["z", "y", "x"][order] ?? "x";

