// The image of one slice, with its cross-hair. Here: pointing, zooming, panning, changing the grey window by dragging.
// Not here: which slices there are (Slices.tsx), their controls (SliceControls.tsx).

import { useEffect, useRef, useState, type KeyboardEvent, type PointerEvent, type ReactNode, type RefObject } from "react";
import { draggedWindow, type GreyWindow } from "../geometry/greyWindow";
import { NAMES, placeOf, stepped, voxelAt, type Voxel } from "../geometry/slices";
import { panned, WHOLE, zoomedAt, type Zoom } from "../geometry/zoom";
import { useSession } from "../session/session";
import { percent } from "./projection";
import type { ShownSlice } from "./shownSlice";

const STEP_PIXELS = 40;
const ZOOM_PER_PIXEL = 0.005;
const ZOOM_PER_KEY = 1.5;
const STEPS: Readonly<Record<string, number>> = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
const FACTORS: Readonly<Record<string, number>> = { "+": ZOOM_PER_KEY, "=": ZOOM_PER_KEY, "-": 1 / ZOOM_PER_KEY, "0": 0 };
const TITLE = "Wheel: next slice. Ctrl + wheel or + and −: zoom. Shift + drag: pan. Ctrl + drag: contrast and brightness. 0: all of it.";

interface ImageProps {
  slice: ShownSlice;
  cut: (voxel: Voxel) => void;
  hover: (voxel: Voxel | null) => void;
  setWindow: (window: GreyWindow, isMoving: boolean) => void;
}

type Held = { kind: "aim" } | { kind: "pan" } | { kind: "window"; x: number; y: number; from: GreyWindow } | null;

export function SliceImage({ slice, cut, hover, setWindow }: ImageProps): ReactNode {
  const session = useSession();
  const { axis, directions, voxel } = slice;
  const { shape, spacing } = slice.description;
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const [held, setHeld] = useState<Held>(null);
  const [zoom, setZoom] = useState(WHOLE);
  const { right, upright } = directions;
  useEffect(() => (canvas.current ? session.painter.attach(axis, canvas.current) : undefined), [session, axis]);
  const step = (steps: number): void => cut(stepped(directions, voxel, steps, shape));
  useWheel(frame, step, setZoom);
  const at = (event: PointerEvent): Voxel => {
    const box = event.currentTarget.getBoundingClientRect();
    return voxelAt(directions, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height, voxel, shape);
  };
  const windowAt = (event: PointerEvent, { x, y, from }: { x: number; y: number; from: GreyWindow }): GreyWindow =>
    draggedWindow(from, event.clientX - x, event.clientY - y, slice.range[1] - slice.range[0]);
  const move = (event: PointerEvent): void => {
    hover(at(event));
    if (held?.kind === "aim") cut(at(event));
    else if (held?.kind === "window") setWindow(windowAt(event, held), true);
    else if (held?.kind === "pan" && frame.current) setZoom(panned(zoom, event.movementX, event.movementY, sizeOf(frame.current)));
  };
  const letGo = (event: PointerEvent): void => {
    if (held?.kind === "window") setWindow(windowAt(event, held), false);
    setHeld(null);
  };
  const press = (event: KeyboardEvent): void => {
    const way = STEPS[event.key];
    const factor = FACTORS[event.key];
    if (way === undefined && factor === undefined) return;
    event.preventDefault();
    if (way !== undefined) step(way);
    else if (frame.current) setZoom(zoomedAtMiddle(zoom, factor ?? 1, frame.current));
  };
  const width = (shape[right] ?? 1) * (spacing[right] ?? 1);
  const height = (shape[upright] ?? 1) * (spacing[upright] ?? 1);
  const { u, v } = placeOf(directions, voxel, shape);
  return (
    <div className="slice-frame">
      <div className="slice-window" style={{ aspectRatio: `${width} / ${height}`, "--ratio": width / height } as React.CSSProperties} ref={frame}>
        <div
          className="slice-image"
          style={{ transform: `translate(${zoom.x}px, ${zoom.y}px) scale(${zoom.scale})`, "--zoom": zoom.scale } as React.CSSProperties}
          role="slider"
          tabIndex={0}
          aria-label={`Slice across ${axis}`}
          aria-valuemin={0}
          aria-valuemax={slice.last}
          aria-valuenow={slice.index}
          title={TITLE}
          onKeyDown={press}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            const next = heldBy(event, slice);
            setHeld(next);
            if (next?.kind === "aim") cut(at(event));
          }}
          onPointerMove={move}
          onPointerUp={letGo}
          onPointerCancel={letGo}
          onPointerLeave={() => hover(null)}
          onContextMenu={(event) => event.preventDefault()}
        >
          <canvas ref={canvas} />
          <svg aria-hidden="true">
            <line className={`is-${NAMES[right] ?? "x"}`} x1={percent(u)} x2={percent(u)} y1="0" y2="100%" />
            <line className={`is-${NAMES[upright] ?? "y"}`} x1="0" x2="100%" y1={percent(v)} y2={percent(v)} />
          </svg>
        </div>
      </div>
    </div>
  );
}

function heldBy(event: PointerEvent, slice: ShownSlice): Held {
  if (event.ctrlKey && slice.options.colors === "grey") return { kind: "window", x: event.clientX, y: event.clientY, from: slice.window };
  return event.shiftKey || event.button !== 0 ? { kind: "pan" } : { kind: "aim" };
}

const sizeOf = (element: HTMLElement): { width: number; height: number } => ({ width: element.clientWidth, height: element.clientHeight });

function zoomedAtMiddle(zoom: Zoom, factor: number, frame: HTMLElement): Zoom {
  const size = sizeOf(frame);
  return zoomedAt(zoom, factor, size.width / 2, size.height / 2, size);
}

/** React's own wheel events cannot keep the page from zooming. Touchpads send a pinch as a wheel with Ctrl. */
function useWheel(frame: RefObject<HTMLDivElement | null>, step: (steps: number) => void, setZoom: (change: (zoom: Zoom) => Zoom) => void): void {
  const latest = useRef(step);
  useEffect(() => {
    latest.current = step;
  }, [step]);
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    const turn = (event: WheelEvent): void => {
      event.preventDefault();
      if (!event.ctrlKey) return latest.current(Math.round(-event.deltaY / STEP_PIXELS) || -Math.sign(event.deltaY));
      const box = element.getBoundingClientRect();
      const factor = Math.exp(-event.deltaY * ZOOM_PER_PIXEL);
      return setZoom((zoom) => zoomedAt(zoom, factor, event.clientX - box.left, event.clientY - box.top, sizeOf(element)));
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, [frame, setZoom]);
}
