// The planes of the slices in the scene, and the cross-hair. Here: outlines, and handles that move and tilt them.
// Not here: slices as images (SliceImage.tsx), planes that the renderer draws (the instance).

import { useRef, type ReactNode } from "react";
import { alongLine, type Ray } from "../geometry/camera";
import { cornersOf, inWorld, NAMES, stepped } from "../geometry/slicePlace";
import { add, cross, dot, length, scale, subtract, unit, type Vector } from "../geometry/vector";
import type { Axis, SliceAxis, SliceRectangle } from "../protocol";
import { useSession } from "../session/session";
import { canControl, sceneOf, shownAxes } from "../state/selectors";
import { useSelect } from "../state/store";
import { isInside, percent, useProjection, type Projection } from "../view/projection";
import { SceneHandle } from "../view/SceneHandle";

const TILT_ARM = 0.22;
const KEY_TILT = 0.05;
/** The middles of the edges of a slice, in the order in which its handle may stand at them. */
const MIDDLES = [[1, 0.5], [0, 0.5], [0.5, 1], [0.5, 0]] as const;

export function SlicePlanes(): ReactNode {
  const projection = useProjection();
  const scene = useSelect(sceneOf);
  const headers = useSelect((state) => state.sliceHeaders);
  const isShown = useSelect((state) => state.interface.areSlicePlanesShown);
  if (!projection || !scene || !isShown) return null;
  return (
    <svg className="overlay slice-planes" role="group" aria-label="Slice planes">
      {shownAxes(scene).map((axis) => {
        const place = headers[axis]?.place;
        return place ? <Plane key={axis} axis={axis} place={place} projection={projection} /> : null;
      })}
    </svg>
  );
}

function Plane({ axis, place, projection }: { axis: SliceAxis; place: SliceRectangle; projection: Projection }): ReactNode {
  const { corners } = cornersOf(place);
  const seen = corners.map(projection.place);
  if (seen.some(({ depth }) => depth <= 0)) return null;
  const points = seen.map(({ x, y }) => `${x},${y}`).join(" ");
  return (
    <g className={`slice-plane is-${axis}`}>
      {/* Fractions of the frame: the outline stays as thin as it is. */}
      <svg viewBox="0 0 1 1" preserveAspectRatio="none" width="100%" height="100%" className="slice-outline">
        <polygon points={points} vectorEffect="non-scaling-stroke" />
      </svg>
      <PlaneHandles axis={axis} place={place} projection={projection} />
    </g>
  );
}

function PlaneHandles({ axis, place, projection }: { axis: SliceAxis; place: SliceRectangle; projection: Projection }): ReactNode {
  const session = useSession();
  const mayControl = useSelect(canControl);
  const held = useRef<{ voxel: readonly [number, number, number]; point: Vector } | null>(null);
  if (!mayControl) return null;
  const { centre, normal, edge } = cornersOf(place);
  // At an edge of its own, because all planes meet in the cross-hair; at one that is in sight.
  const middles = MIDDLES.map(([u, v]) => inWorld(place, u, v));
  const anchor = axis === "oblique" ? centre : (middles.find((one) => isInside(projection.place(one))) ?? inWorld(place, 1, 0.5));
  const step = Math.abs(dot(place.step, normal)) || 1;
  const grab = (): void => {
    const state = session.store.get();
    held.current = { voxel: state.crossHair?.voxel ?? [0, 0, 0], point: sceneOf(state)?.slices[0]?.point ?? centre };
  };
  const move = (ray: Ray, isMoving: boolean): void => {
    const way = held.current ? alongLine(ray, axis === "oblique" ? held.current.point : anchor, normal) : null;
    if (way === null || !held.current) return;
    moveBy(axis, axis === "oblique" ? way : Math.round((way / step) * Math.sign(dot(place.step, normal))), isMoving);
  };
  const moveBy = (which: SliceAxis, way: number, isMoving: boolean): void => {
    const state = session.store.get();
    const layer = state.crossHair?.layer ?? 0;
    const shape = state.layers?.layers[layer]?.shape;
    if (which === "oblique") session.set(["slices", 0, "point"], add(held.current?.point ?? centre, scale(normal, way)), isMoving);
    else if (state.crossHair?.voxel && shape) session.cut(stepped(which, state.crossHair.voxel, way, shape), layer);
  };
  const tilt = (ray: Ray, isMoving: boolean): void => {
    const next = towards(ray, centre, edge * TILT_ARM);
    if (next) session.set(["slices", 0, "normal"], next, isMoving);
  };
  const turn = (right: number, up: number): void => {
    // The plane as it is by now: its image may be on the way.
    const present = sceneOf(session.store.get())?.slices[0]?.normal ?? normal;
    const sideways = unit(place.right);
    const upwards = unit(cross(present, sideways));
    session.set(["slices", 0, "normal"], unit(add(unit(present), add(scale(sideways, right * KEY_TILT), scale(upwards, up * KEY_TILT)))));
  };
  const index = NAMES.indexOf(axis as Axis);
  return (
    <>
      <SceneHandle
        label={axis === "oblique" ? "Oblique plane" : `Plane across ${axis}`}
        value={index >= 0 ? (session.store.get().crossHair?.voxel?.[index] ?? 0) : 0}
        at={anchor}
        projection={projection}
        onGrab={grab}
        onMove={(ray) => move(ray, true)}
        onDrop={(ray) => move(ray, false)}
        onStep={(right, up) => {
          grab();
          moveBy(axis, axis === "oblique" ? (right || up) * step : right || up, false);
        }}
      />
      {axis === "oblique" ? (
        <>
          <Arm from={centre} to={add(centre, scale(normal, edge * TILT_ARM))} projection={projection} />
          <SceneHandle
            label="Tilt of the oblique plane"
            value={0}
            at={add(centre, scale(normal, edge * TILT_ARM))}
            projection={projection}
            onGrab={grab}
            onMove={(ray) => tilt(ray, true)}
            onDrop={(ray) => tilt(ray, false)}
            onStep={turn}
          />
        </>
      ) : null}
    </>
  );
}

/** The direction from a centre to where a ray comes nearest to a sphere around it, on the side of the eye. */
function towards(ray: Ray, centre: Vector, radius: number): Vector | null {
  const from = subtract(ray.origin, centre);
  const nearest = -dot(from, ray.direction);
  const beside = add(from, scale(ray.direction, nearest));
  const inside = radius ** 2 - dot(beside, beside);
  const point = inside > 0 ? subtract(beside, scale(ray.direction, Math.sqrt(inside))) : beside;
  return length(point) > 0 ? unit(point) : null;
}

function Arm({ from, to, projection }: { from: Vector; to: Vector; projection: Projection }): ReactNode {
  const [a, b] = [projection.place(from), projection.place(to)];
  if (a.depth <= 0 || b.depth <= 0) return null;
  return <line x1={percent(a.x)} y1={percent(a.y)} x2={percent(b.x)} y2={percent(b.y)} />;
}
