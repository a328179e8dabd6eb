// Picking a label by a click in the scene.

import type { View } from "../protocol";
import type { Session } from "../session/session";
import { sceneOf } from "../state/selectors";
import type { Point } from "./gestures";

/** Choose the label at a place of the image, and its layer; elsewhere, none. */
export async function pickAt(session: Session, view: View, place: Point): Promise<void> {
  if (!sceneOf(session.store.get())?.volumes.some((one) => one.labels !== null)) return;
  const hit = await session.probe(place.x, place.y, view);
  // The pointer's own probe before it was not answered; and a finger has none.
  session.store.dispatch({ type: "hit", hit });
  if (!hit || hit.label === null || hit.label === 0 || hit.label_layer < 0) return session.page({ label: null });
  session.page({ chosen: { kind: "volumes", index: hit.label_layer }, label: { layer: hit.label_layer, label: hit.label } });
}
