// One image of the scene, and the pointers on it. Here: the canvas, its events. Not here: what they do to a camera (gestures).

import { useEffect, useRef, type PointerEvent, type ReactNode } from "react";
import { centred } from "../geometry/camera";
import { isMeasureKind } from "../geometry/measuring";
import type { View } from "../protocol";
import { animateCamera } from "../session/cameraAnimation";
import { useSession, type Session } from "../session/session";
import { canControl } from "../state/selectors";
import { useSelect } from "../state/store";
import { dragged, fraction, pinched, wheeled, type Frame, type Point } from "./gestures";
import { finishMeasure, measureAt } from "./measuring";
import { pickAt } from "./picking";

const CLICK_PIXELS = 4;

export function ViewCanvas({ view, label }: { view: View; label: string }): ReactNode {
  const session = useSession();
  const canvas = useRef<HTMLCanvasElement>(null);
  const tool = useSelect((state) => state.interface.tool);
  const hands = useHands(session, view);
  useEffect(() => (canvas.current ? session.painter.attach(view, canvas.current) : undefined), [session, view]);
  useWheel(canvas, session);
  return (
    <canvas
      ref={canvas}
      className={`view-canvas is-${tool}`}
      data-view={view}
      tabIndex={0}
      role="img"
      aria-label={label}
      onKeyDown={(event) => {
        if (event.key === "Enter") finishMeasure(session);
      }}
      onContextMenu={(event) => event.preventDefault()}
      {...hands}
    />
  );
}

type Handler = (event: PointerEvent<HTMLCanvasElement>) => void;
type Hands = Record<"onPointerDown" | "onPointerMove" | "onPointerUp" | "onPointerCancel" | "onPointerLeave", Handler> & {
  onDoubleClick: (event: React.MouseEvent<HTMLCanvasElement>) => void;
};

function useHands(session: Session, view: View): Hands {
  const pointers = useRef(new Map<number, Point>());
  const travelled = useRef(0);
  const wanted = useRef<Point | null>(null);

  const move: Handler = (event) => {
    const at = { x: event.clientX, y: event.clientY };
    const before = pointers.current.get(event.pointerId);
    if (!before) {
      if (event.pointerType !== "touch") probe(session, view, fraction(at, event.currentTarget.getBoundingClientRect()), wanted);
      return;
    }
    const { camera } = session.store.get();
    if (!camera || !canControl(session.store.get())) return;
    travelled.current += Math.hypot(at.x - before.x, at.y - before.y);
    const frame = event.currentTarget.getBoundingClientRect();
    const next = afterMove(pointers.current, event, at, camera, frame);
    pointers.current.set(event.pointerId, at);
    if (next && travelled.current > CLICK_PIXELS) session.look(next, true);
  };

  const release: Handler = (event) => {
    if (!pointers.current.delete(event.pointerId) || pointers.current.size > 0) return;
    event.currentTarget.classList.remove("is-held");
    const { camera, interface: page } = session.store.get();
    if (travelled.current > CLICK_PIXELS) {
      if (camera && canControl(session.store.get())) session.look(camera, false);
    } else if (isMeasureKind(page.tool) && event.type === "pointerup") {
      const place = fraction({ x: event.clientX, y: event.clientY }, event.currentTarget.getBoundingClientRect());
      void measureAt(session, view, place);
    } else if (event.type === "pointerup" && event.button === 0) {
      void pickAt(session, view, fraction({ x: event.clientX, y: event.clientY }, event.currentTarget.getBoundingClientRect()));
    }
  };

  return {
    onPointerDown(event) {
      event.currentTarget.focus({ preventScroll: true });
      event.currentTarget.setPointerCapture(event.pointerId);
      event.currentTarget.classList.add("is-held");
      if (pointers.current.size === 0) travelled.current = 0;
      pointers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
    },
    onPointerMove: move,
    onPointerUp: release,
    onPointerCancel: release,
    onPointerLeave() {
      wanted.current = null;
      session.store.dispatch({ type: "hit", hit: null });
    },
    onDoubleClick: (event) => void centreOn(session, view, fraction({ x: event.clientX, y: event.clientY }, event.currentTarget.getBoundingClientRect())),
  };
}

function afterMove(pointers: Map<number, Point>, event: PointerEvent, at: Point, camera: Parameters<typeof dragged>[0], frame: Frame) {
  const before = pointers.get(event.pointerId);
  if (!before) return null;
  const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
  if (other) return pinched(camera, [before, other], [at, other], frame);
  const held = { buttons: event.buttons, isShift: event.shiftKey, isControl: event.ctrlKey || event.metaKey, isAlt: event.altKey };
  return dragged(camera, before, at, frame, held);
}

/** Probes the position under the pointer, one request at a time; the last position is always probed. */
function probe(session: Session, view: View, place: Point, wanted: { current: Point | null }): void {
  wanted.current = place;
  if (session.isProbing) return;
  void session.probe(place.x, place.y, view).then((hit) => {
    if (wanted.current === null) return;
    session.store.dispatch({ type: "hit", hit });
    if (wanted.current !== place) probe(session, view, wanted.current, wanted);
  });
}

async function centreOn(session: Session, view: View, place: Point): Promise<void> {
  const state = session.store.get();
  if (state.interface.tool !== "turn" || !canControl(state)) return;
  const hit = await session.probe(place.x, place.y, view);
  const { camera } = session.store.get();
  if (hit && camera) animateCamera(session, centred(camera, hit.position));
}

/** React's own wheel events cannot keep the page from scrolling. */
function useWheel(canvas: React.RefObject<HTMLCanvasElement | null>, session: Session): void {
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    const turn = (event: WheelEvent): void => {
      event.preventDefault();
      const state = session.store.get();
      if (!state.camera || !canControl(state)) return;
      const isLines = event.deltaMode === WheelEvent.DOM_DELTA_LINE;
      const at = { x: event.clientX, y: event.clientY };
      session.look(wheeled(state.camera, at, event.deltaY, isLines, element.getBoundingClientRect()), true);
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, [canvas, session]);
}
