// The clipping box and planes over the image, with handles to drag.
// Here: drawing and dragging. Not here: the numbers of them (panels/ClipSection), the geometry (geometry/clipping).

import { useRef, type ReactNode } from "react";
import { alongLine, type Ray } from "../geometry/camera";
import { corners, dragged, EDGES, faces, withFace, type Face } from "../geometry/clipping";
import { boxOrNone, centreOf, extentOf, wholeOf } from "../geometry/extent";
import { placed } from "../geometry/transform";
import { add, dot, length, scale, subtract, unit, type Vector } from "../geometry/vector";
import type { Box, ClipPlane } from "../protocol";
import { useSession } from "../session/session";
import { canControl, chosenVolume, sceneOf, type ChosenVolume } from "../state/selectors";
import { useSelect } from "../state/store";
import { percent, useProjection, type Projection } from "./projection";
import { SceneHandle } from "./SceneHandle";

const RADIUS = 7;
/** Of the diagonal of the volume, for a press of an arrow key. */
const KEY_STEP = 0.005;
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
    <svg className="overlay clip" role="group" aria-label="Clipping box and planes">
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
  const step = (face: Face, way: number): void =>
    session.set(["volumes", index, "clip"], boxOrNone(description, withFace(description, box, 2 - face.axis, face.isHigh, endOf(box, face) + way)));
  return (
    <g>
      {EDGES.map(([from, to]) => (
        <Edge key={`${from}-${to}`} a={seen[from]} b={seen[to]} />
      ))}
      {faces(description, layer.transform, box).map((face) => (
        <SceneHandle
          key={`${face.axis}${face.isHigh}`}
          label={`${face.isHigh ? "Upper" : "Lower"} end of the clipping box along ${ORDER_NAMES[face.axis]}`}
          className={`is-face is-${ORDER_NAMES[face.axis]}`}
          radius={RADIUS}
          value={endOf(box, face)}
          range={[0, description.shape[2 - face.axis] ?? 0]}
          at={face.centre}
          projection={projection}
          onGrab={() => (held.current = { face, box })}
          onMove={(ray) => move(ray, true)}
          onDrop={(ray) => move(ray, false)}
          onStep={(right, up) => step(face, right || up)}
        />
      ))}
    </g>
  );
}

/** The voxel at which a face is. */
const endOf = (box: Box, { axis, isHigh }: Face): number => (isHigh ? box.stop : box.start)[2 - axis] ?? 0;

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
      <SceneHandle
        label={`Clipping plane ${index + 1}`}
        className="is-plane"
        radius={RADIUS}
        value={Number(plane.offset.toPrecision(6))}
        at={anchor}
        projection={projection}
        onGrab={() => (held.current = { anchor, offset })}
        onMove={(ray) => move(ray, true)}
        onDrop={(ray) => move(ray, false)}
        onStep={(right, up) => session.set(["planes", index, "offset"], plane.offset + (right || up) * size * KEY_STEP * steep)}
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
