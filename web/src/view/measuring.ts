// Measuring a distance: two clicks on visible points, then the values in between.

import { profile } from "../connection/requests";
import { RequestError } from "../connection/requestError";
import type { View } from "../protocol";
import type { Session } from "../session/session";
import type { Point } from "./gestures";

let count = 0;

export async function measureAt(session: Session, view: View, place: Point): Promise<void> {
  const hit = await session.probe(place.x, place.y, view);
  if (!hit) {
    session.notify("plain", "Nothing to measure at this point.", "Click a visible part of the scene.");
    return;
  }
  const start = session.store.get().measureStart;
  if (!start) return session.store.dispatch({ type: "measure-start", start: hit.position });
  const id = ++count;
  session.store.dispatch({ type: "measure", id, start, stop: hit.position });
  try {
    const values = await profile({ start, stop: hit.position, layer: hit.layer, count: 256 });
    session.store.dispatch({ type: "profile", id, profile: values });
  } catch (error) {
    // The distance is known without the values.
    if (!(error instanceof RequestError)) throw error;
  }
}
