// Pointers on a slice. Here: what each does: aim, pan, change the window, measure; two fingers zoom.
// Not here: the image (SliceImage.tsx), the brush (painting.ts).

import { useRef, type PointerEvent } from "react";
import { draggedWindow, type GreyWindow } from "../geometry/greyWindow";
import { isMeasureKind } from "../geometry/measuring";
import { inWorld, stepped, voxelAt } from "../geometry/slicePlace";
import { inSlice, panned, regionOf, zoomedAt, type Size } from "../geometry/sliceView";
import { add, scale, type Vector } from "../geometry/vector";
import type { View } from "../protocol";
import type { Session } from "../session/session";
import { useSession } from "../session/session";
import { canControl, sceneOf } from "../state/selectors";
import { addMeasurePoint } from "../view/measuring";
import { BrushGesture, paintedLayer } from "./painting";
import type { ShownSlice } from "./shownSlice";

const CLICK_PIXELS = 4;

interface Point {
  x: number;
  y: number;
}

type Held = { kind: "aim" | "pan" | "measure" } | { kind: "brush"; gesture: BrushGesture } | { kind: "window"; x: number; y: number; from: GreyWindow };

type Handler = (event: PointerEvent<HTMLDivElement>) => void;
type SlicePointers = Record<"onPointerDown" | "onPointerMove" | "onPointerUp" | "onPointerCancel" | "onPointerLeave", Handler>;

/** view: of which scene the image is. On that of the compared scene pointers aim and pan: nothing is edited or measured there. */
export function useSlicePointers(slice: ShownSlice, size: Size | null, extent: Size, view: View): SlicePointers {
  const session = useSession();
  const pointers = useRef(new Map<number, Point>());
  const held = useRef<Held | null>(null);
  const travelled = useRef(0);
  const placeAt = (event: PointerEvent<HTMLDivElement>): readonly [number, number] => {
    const box = event.currentTarget.getBoundingClientRect();
    const region = regionOf(session.store.get().interface.sliceZoom[slice.axis], box, extent);
    return inSlice(region, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height);
  };
  const mayControl = (): boolean => canControl(session.store.get());
  const release: Handler = (event) => {
    pointers.current.delete(event.pointerId);
    const was = held.current;
    held.current = null;
    if (was?.kind === "brush") was.gesture.end();
    if (event.type !== "pointerup" || !was) return;
    if (was.kind === "window" && mayControl()) setWindow(session, slice, windowAt(event, slice, was), false);
    else if (was.kind === "measure" && travelled.current <= CLICK_PIXELS) measureAt(session, slice, placeAt(event));
    else if (was.kind === "aim" && view === "main" && travelled.current <= CLICK_PIXELS) void pickAt(session, slice, placeAt(event));
  };
  return {
    onPointerDown(event) {
      event.currentTarget.focus({ preventScroll: true });
      event.currentTarget.setPointerCapture(event.pointerId);
      if (pointers.current.size === 0) travelled.current = 0;
      pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (held.current?.kind === "brush") held.current.gesture.end();
      held.current = pointers.current.size > 1 ? { kind: "pan" } : view === "main" ? heldBy(event, session, slice) : { kind: event.shiftKey || event.button !== 0 ? "pan" : "aim" };
      if (held.current.kind === "brush") brush(session, slice, held.current.gesture, placeAt(event));
      if (held.current.kind === "aim" && mayControl()) aim(session, slice, placeAt(event));
    },
    onPointerMove(event) {
      const before = pointers.current.get(event.pointerId);
      const at = { x: event.clientX, y: event.clientY };
      if (event.pointerType !== "touch" && view === "main") session.probeSlice(slice.axis, ...placeAt(event));
      if (!before) return;
      travelled.current += Math.hypot(at.x - before.x, at.y - before.y);
      const other = [...pointers.current].find(([id]) => id !== event.pointerId)?.[1];
      pointers.current.set(event.pointerId, at);
      if (other && size) return pinch(session, slice, before, at, other, event.currentTarget.getBoundingClientRect(), extent);
      if (held.current?.kind === "pan" && size) {
        const zoom = session.store.get().interface.sliceZoom[slice.axis];
        session.zoomSlice(slice.axis, panned(zoom, at.x - before.x, at.y - before.y, size, extent));
      }
      if (!mayControl()) return;
      if (held.current?.kind === "aim") aim(session, slice, placeAt(event));
      else if (held.current?.kind === "brush") brush(session, slice, held.current.gesture, placeAt(event));
      else if (held.current?.kind === "window") setWindow(session, slice, windowAt(event, slice, held.current), true);
    },
    onPointerUp: release,
    onPointerCancel: release,
    onPointerLeave: () => session.probeSlice(null, 0, 0),
  };
}

function heldBy(event: PointerEvent, session: Session, slice: ShownSlice): Held {
  const { tool } = session.store.get().interface;
  const isGrey = slice.options.colors === "grey" && slice.volume.labels === null;
  if (event.ctrlKey && isGrey) return { kind: "window", x: event.clientX, y: event.clientY, from: slice.window };
  if (event.shiftKey || event.button !== 0) return { kind: "pan" };
  const state = session.store.get();
  const painted = tool === "paint" || tool === "erase" ? paintedLayer(state) : null;
  if (painted && canControl(state)) return { kind: "brush", gesture: new BrushGesture(session, painted, slice.axis) };
  return { kind: isMeasureKind(tool) ? "measure" : "aim" };
}

function brush(session: Session, slice: ShownSlice, gesture: BrushGesture, place: readonly [number, number]): void {
  const position = positionAt(session, slice, place);
  if (position) gesture.through(position);
}

const windowAt = (event: PointerEvent, slice: ShownSlice, { x, y, from }: { x: number; y: number; from: GreyWindow }): GreyWindow =>
  draggedWindow(from, event.clientX - x, event.clientY - y, slice.range[1] - slice.range[0]);

export function setWindow(session: Session, slice: ShownSlice, window: GreyWindow | null, isMoving: boolean): void {
  session.setSlice(slice, "window", window, isMoving);
}

/** The world position at a place of a slice; null before its image is there. */
function positionAt(session: Session, slice: ShownSlice, [u, v]: readonly [number, number]): Vector | null {
  const header = session.sliceImages.headerOf(slice.axis);
  return header ? inWorld(header.place, u, v) : null;
}

/** Move the cross-hair there. Across its axis it stays where it is. */
function aim(session: Session, slice: ShownSlice, place: readonly [number, number]): void {
  const { crossHair, layers } = session.store.get();
  const scene = sceneOf(session.store.get());
  const position = positionAt(session, slice, place);
  const [volume, description] = [scene?.volumes[crossHair?.layer ?? 0], layers?.layers[crossHair?.layer ?? 0]];
  if (!position || !volume || !description || !crossHair?.voxel) return;
  const next: [number, number, number] = [...voxelAt(description, volume.transform, position)];
  if (slice.axis !== "oblique") next[["z", "y", "x"].indexOf(slice.axis)] = slice.index;
  session.cut(next, crossHair.layer);
}

/** Some slices further; an oblique one along its normal. */
export function stepSlice(session: Session, slice: ShownSlice, steps: number): void {
  const state = session.store.get();
  const voxel = state.crossHair?.voxel;
  if (!canControl(state) || !voxel) return;
  if (slice.axis !== "oblique") return session.cut(stepped(slice.axis, voxel, steps, slice.description.shape), slice.layer);
  const header = session.sliceImages.headerOf("oblique");
  const plane = sceneOf(state)?.slices[0];
  if (header && plane) session.set(["slices", 0, "point"], add(plane.point, scale(header.place.step, steps)), true);
}

function measureAt(session: Session, slice: ShownSlice, place: readonly [number, number]): void {
  const position = positionAt(session, slice, place);
  if (position && canControl(session.store.get())) addMeasurePoint(session, position, Math.max(slice.layer, 0));
}

/** Choose the label at a place of a slice, and its layer. */
async function pickAt(session: Session, slice: ShownSlice, [u, v]: readonly [number, number]): Promise<void> {
  if (!sceneOf(session.store.get())?.volumes.some((one) => one.labels !== null)) return;
  const hit = await session.askSlice(slice.axis, u, v);
  if (!hit || hit.label === null || hit.label === 0 || hit.label_layer < 0) return;
  session.page({ chosen: { kind: "volumes", index: hit.label_layer }, label: { layer: hit.label_layer, label: hit.label } });
}

function pinch(session: Session, slice: ShownSlice, from: Point, to: Point, other: Point, panel: DOMRect, extent: Size): void {
  const apart = (point: Point): number => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y));
  const [x, y] = [((to.x + other.x) / 2 - panel.left) / panel.width, ((to.y + other.y) / 2 - panel.top) / panel.height];
  const zoom = session.store.get().interface.sliceZoom[slice.axis];
  const shifted = panned(zoom, (to.x - from.x) / 2, (to.y - from.y) / 2, panel, extent);
  session.zoomSlice(slice.axis, zoomedAt(shifted, apart(to) / apart(from), x, y, panel, extent));
}
