// Measuring: points are added one by one, by clicks in the scene or on slices; the measure becomes part of the scene.

import { KINDS, isMeasureKind } from "../geometry/measuring";
import type { Vector } from "../geometry/vector";
import type { Measure, View } from "../protocol";
import type { Session } from "../session/session";
import { sceneOf } from "../state/selectors";
import type { Point } from "./gestures";

export async function measureAt(session: Session, view: View, place: Point): Promise<void> {
  const hit = await session.probe(place.x, place.y, view);
  if (!hit) return void session.notify("plain", "Nothing to measure at this point.", "Click a visible part of the scene.");
  addMeasurePoint(session, hit.position, hit.layer);
}

/** Add a point (x, y, z) of the world to the measure that is being made. layer: the volume whose values are measured. */
export function addMeasurePoint(session: Session, point: Vector, layer: number): void {
  const { measurePoints, interface: page } = session.store.get();
  if (!isMeasureKind(page.tool)) return;
  const points = [...measurePoints, point];
  session.store.dispatch({ type: "measure-points", points });
  const { isOpen, points: needed } = KINDS[page.tool];
  if (!isOpen && points.length >= needed) finishMeasure(session, layer);
}

/** Keep what was measured; with too few points, nothing. */
export function finishMeasure(session: Session, layer = 0): void {
  const { measurePoints: points, interface: page } = session.store.get();
  const scene = sceneOf(session.store.get());
  session.store.dispatch({ type: "measure-points", points: [] });
  if (!scene || !isMeasureKind(page.tool) || points.length < KINDS[page.tool].points) return;
  const measure: Measure = { kind: page.tool, points: [...points], name: "", text: "", layer: Math.max(layer, 0), is_visible: true };
  session.set(["measures", scene.measures.length], measure);
}
