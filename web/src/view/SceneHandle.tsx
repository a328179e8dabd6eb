// A handle in the scene, for planes and faces: dragged along a ray, stepped with arrow keys, always inside the image.
// Here: where it stands and what pointers and keys do with it. Not here: what it moves (ClipHandles.tsx, SlicePlanes.tsx).

import { useRef, type PointerEvent, type ReactNode } from "react";
import { rayThrough, type Ray } from "../geometry/camera";
import { clamp, type Vector } from "../geometry/vector";
import { percent, type Projection } from "./projection";

/** Of the image: a handle nearer to its edge would be cut off, or be covered by the title. */
const MARGIN = 0.035;
const KEYS: Readonly<Record<string, readonly [number, number]>> = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };

interface SceneHandleProps {
  label: string;
  className?: string;
  radius?: number;
  value: number;
  range?: readonly [number, number];
  at: Vector;
  projection: Projection;
  onGrab: () => void;
  onMove: (ray: Ray) => void;
  onDrop: (ray: Ray) => void;
  /** Arrow keys: right and up are 1, left and down −1. */
  onStep: (right: number, up: number) => void;
}

export function SceneHandle({ label, className = "", radius = 6, value, range, at, projection, onGrab, onMove, onDrop, onStep }: SceneHandleProps): ReactNode {
  const isHeld = useRef(false);
  const place = projection.place(at);
  if (place.depth <= 0) return null;
  const ray = (event: PointerEvent<SVGCircleElement>): Ray => {
    const frame = event.currentTarget.ownerSVGElement?.getBoundingClientRect() ?? new DOMRect(0, 0, 1, 1);
    return rayThrough(projection.camera, (event.clientX - frame.left) / frame.width, (event.clientY - frame.top) / frame.height, projection.aspect);
  };
  return (
    <circle
      className={`handle ${className}`}
      cx={percent(clamp(place.x, MARGIN, 1 - MARGIN))}
      cy={percent(clamp(place.y, MARGIN, 1 - MARGIN))}
      r={radius}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuenow={value}
      aria-valuemin={range?.[0]}
      aria-valuemax={range?.[1]}
      onKeyDown={(event) => {
        const way = KEYS[event.key];
        if (!way) return;
        event.preventDefault();
        onStep(...way);
      }}
      onPointerDown={(event) => {
        isHeld.current = true;
        event.currentTarget.setPointerCapture(event.pointerId);
        onGrab();
      }}
      onPointerMove={(event) => (isHeld.current ? onMove(ray(event)) : undefined)}
      onPointerUp={(event) => {
        if (isHeld.current) onDrop(ray(event));
        isHeld.current = false;
      }}
    >
      <title>{`${label}: drag it, or use the arrow keys`}</title>
    </circle>
  );
}
