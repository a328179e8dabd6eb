// The clipping box and planes over the image, with handles to drag.
// Here: drawing and dragging. Not here: the numbers of them (panels/ClipSection), the geometry (geometry/clipping).

import { useRef, type PointerEvent, type ReactNode } from "react";
import { alongLine, rayThrough, type Ray } from "../geometry/camera";
import { corners, dragged, EDGES, faces, type Face } from "../geometry/clipping";
import { boxOrNone, centreOf, extentOf, wholeOf } from "../geometry/extent";
import { placed } from "../geometry/transform";
import { add, dot, length, scale, subtract, unit, type Vector } from "../geometry/vector";
import type { Box, ClipPlane } from "../protocol";
import { useSession } from "../session/session";
import { canControl, chosenVolume, sceneOf, type ChosenVolume } from "../state/selectors";
import { useSelect } from "../state/store";
import { percent, useProjection, type Projection } from "./projection";

const ORDER_NAMES = ["x", "y", "z"] as const;

export function ClipHandles(): ReactNode {
  const areShown = useSelect((state) => state.interface.areClipHandlesShown && canControl(state));
  const projection = useProjection();
  const chosen = useSelect(chosenVolume);
  const planes = useSelect((state) => sceneOf(state)?.planes ?? null);
  if (!areShown || !projection || !chosen?.description) return null;
  const extent = extentOf(chosen.description, null);
  const centre = placed(chosen.layer.transform, centreOf(extent));
  const size = length(subtract(extent.high, extent.low));
  return (
    <svg className="overlay clip" aria-hidden="true">
      <BoxHandles projection={projection} chosen={chosen} />
      {planes?.map((plane, index) => (
        // Planes have no names: the index identifies them.
        <PlaneHandle key={index} index={index} plane={plane} centre={centre} size={size} projection={projection} />
      ))}
    </svg>
  );
}

function BoxHandles({ projection, chosen }: { projection: Projection; chosen: ChosenVolume }): ReactNode {
  const session = useSession();
  const held = useRef<{ face: Face; box: Box } | null>(null);
  const { description, layer, index } = chosen;
  if (!description) return null;
  const box = layer.clip ?? wholeOf(description);
  const seen = corners(description, layer.transform, box).map(projection.place);
  const move = (ray: Ray, isMoving: boolean): void => {
    if (!held.current) return;
    const next = dragged(description, layer.transform, held.current.box, held.current.face, ray);
    session.set(["volumes", index, "clip"], boxOrNone(description, next), isMoving);
  };
  return (
    <g>
      {EDGES.map(([from, to]) => (
        <Edge key={`${from}-${to}`} a={seen[from]} b={seen[to]} />
      ))}
      {faces(description, layer.transform, box).map((face) => (
        <Handle
          key={`${face.axis}${face.isHigh}`}
          className={`handle is-${ORDER_NAMES[face.axis]}`}
          at={face.centre}
          projection={projection}
          onGrab={() => (held.current = { face, box })}
          onMove={(ray) => move(ray, true)}
          onDrop={(ray) => move(ray, false)}
        />
      ))}
    </g>
  );
}

interface PlaneProps {
  index: number;
  plane: ClipPlane;
  centre: Vector;
  size: number;
  projection: Projection;
}

function PlaneHandle({ index, plane, centre, size, projection }: PlaneProps): ReactNode {
  const session = useSession();
  const held = useRef({ anchor: centre, offset: 0 });
  const normal = unit(plane.normal);
  const steep = length(plane.normal) || 1;
  const offset = plane.offset / steep;
  const anchor = add(centre, scale(normal, offset - dot(centre, normal)));
  const tip = add(anchor, scale(normal, size * 0.09));
  const [from, to] = [projection.place(anchor), projection.place(tip)];
  const move = (ray: Ray, isMoving: boolean): void => {
    const way = alongLine(ray, held.current.anchor, normal);
    if (way !== null) session.set(["planes", index, "offset"], (held.current.offset + way) * steep, isMoving);
  };
  return (
    <g className="plane">
      <Outline centre={anchor} normal={normal} size={size * 0.3} projection={projection} />
      <Edge a={from} b={to} />
      <Handle
        className="handle is-plane"
        at={anchor}
        projection={projection}
        onGrab={() => (held.current = { anchor, offset })}
        onMove={(ray) => move(ray, true)}
        onDrop={(ray) => move(ray, false)}
      />
    </g>
  );
}

function Outline({ centre, normal, size, projection }: { centre: Vector; normal: Vector; size: number; projection: Projection }): ReactNode {
  const helper: Vector = Math.abs(normal[1]) < 0.9 ? [0, 1, 0] : [1, 0, 0];
  const across = unit(subtract(helper, scale(normal, dot(helper, normal))));
  const other: Vector = [
    normal[1] * across[2] - normal[2] * across[1],
    normal[2] * across[0] - normal[0] * across[2],
    normal[0] * across[1] - normal[1] * across[0],
  ];
  const places = ([[1, 1], [1, -1], [-1, -1], [-1, 1]] as const).map(([u, v]) =>
    projection.place(add(centre, add(scale(across, u * size), scale(other, v * size)))),
  );
  return places.map((place, index) => <Edge key={index} a={place} b={places[(index + 1) % 4]} />);
}

type Seen = { x: number; y: number; depth: number } | undefined;

function Edge({ a, b }: { a: Seen; b: Seen }): ReactNode {
  if (!a || !b || a.depth <= 0 || b.depth <= 0) return null;
  return <line x1={percent(a.x)} y1={percent(a.y)} x2={percent(b.x)} y2={percent(b.y)} />;
}

interface HandleProps {
  at: Vector;
  className: string;
  projection: Projection;
  onGrab: () => void;
  onMove: (ray: Ray) => void;
  onDrop: (ray: Ray) => void;
}

function Handle({ at, className, projection, onGrab, onMove, onDrop }: HandleProps): ReactNode {
  const place = projection.place(at);
  const isHeld = useRef(false);
  if (place.depth <= 0) return null;
  const ray = (event: PointerEvent<SVGCircleElement>): Ray => {
    const frame = event.currentTarget.ownerSVGElement?.getBoundingClientRect() ?? new DOMRect(0, 0, 1, 1);
    const x = (event.clientX - frame.left) / frame.width;
    return rayThrough(projection.camera, x, (event.clientY - frame.top) / frame.height, projection.aspect);
  };
  return (
    <circle
      className={className}
      cx={percent(place.x)}
      cy={percent(place.y)}
      r={7}
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
    />
  );
}
