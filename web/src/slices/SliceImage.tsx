// The image of one slice. Here: painting the part in sight, pointing, zooming, panning, changing the grey window.
// Not here: what is drawn over it (SliceOverlay.tsx), its controls (SliceControls.tsx), what pointers do (slicePointers.ts).

import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode, type RefObject } from "react";
import { extentOfSlice } from "../geometry/slicePlace";
import { FITTED, regionOf, zoomedAt, type Region, type Size } from "../geometry/sliceView";
import type { SliceAxis, View } from "../protocol";
import { useSession, type Session } from "../session/session";
import { useSelect } from "../state/store";
import { finishMeasure } from "../view/measuring";
import { BrushCursor } from "./BrushCursor";
import { SliceOverlay } from "./SliceOverlay";
import type { ShownSlice } from "./shownSlice";
import { stepSlice, useSlicePointers } from "./slicePointers";

const STEP_PIXELS = 40;
const ZOOM_PER_PIXEL = 0.005;
const ZOOM_PER_KEY = 1.5;
const STEPS: Readonly<Record<string, number>> = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 };
const FACTORS: Readonly<Record<string, number>> = { "+": ZOOM_PER_KEY, "=": ZOOM_PER_KEY, "-": 1 / ZOOM_PER_KEY, "0": 0 };
const TITLE = "Wheel: next slice. Ctrl + wheel or + and −: zoom. Shift + drag: pan. Ctrl + drag: contrast and brightness. 0: the whole slice.";

/** view: of which scene, where two are compared. covering: an image of the compared scene lies over it. */
export function SliceImage({ slice, view = "main", covering = null }: { slice: ShownSlice; view?: View; covering?: Covering | null }): ReactNode {
  const session = useSession();
  const { axis, description, volume } = slice;
  const panel = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const size = useSize(panel);
  const tool = useSelect((state) => state.interface.tool);
  const zoom = useSelect((state) => state.interface.sliceZoom[axis]);
  const { width, height } = extentOfSlice(axis, description, volume.transform);
  const extent = { width, height };
  const region = size ? regionOf(zoom, size, extent) : null;
  usePainting(session, view, axis, canvas, size, region?.join() ?? "");
  useWheel(panel, session, slice, extent);
  const pointers = useSlicePointers(slice, size, extent, view);
  const press = (event: KeyboardEvent): void => {
    if (event.key === "Enter") finishMeasure(session);
    const way = STEPS[event.key];
    const factor = FACTORS[event.key];
    if (way === undefined && factor === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    if (way !== undefined) stepSlice(session, slice, way);
    else if (size) session.zoomSlice(axis, factor === 0 ? FITTED : zoomedAt(zoom, factor ?? 1, 0.5, 0.5, size, extent));
  };
  return (
    <div
      ref={panel}
      className={`slice-panel is-${tool} is-${view}`}
      role="slider"
      tabIndex={0}
      aria-label={nameOf(axis, view)}
      aria-valuemin={0}
      aria-valuemax={Math.max(slice.last, 0)}
      aria-valuenow={Math.max(slice.index, 0)}
      title={TITLE}
      onKeyDown={press}
      onContextMenu={(event) => event.preventDefault()}
      {...pointers}
    >
      <div className={covering ? `over is-${covering}` : "over"}>
        <canvas ref={canvas} data-scene={view} />
        {covering ? <CoveringImage axis={axis} size={size} numbers={region?.join() ?? ""} /> : null}
      </div>
      {size && region ? <SliceOverlay slice={slice} region={region} size={size} extent={extent} /> : null}
      {size && view === "main" ? <BrushCursor slice={slice} panel={panel} size={size} extent={extent} /> : null}
    </div>
  );
}

export type Covering = "swipe" | "difference";

const nameOf = (axis: SliceAxis, view: View): string => `${axis === "oblique" ? "Oblique slice" : `Slice across ${axis}`}${view === "other" ? ", before the changes" : ""}`;

/** The same part of the compared scene's slice. */
function CoveringImage({ axis, size, numbers }: { axis: SliceAxis; size: Size | null; numbers: string }): ReactNode {
  const session = useSession();
  const canvas = useRef<HTMLCanvasElement>(null);
  usePainting(session, "other", axis, canvas, size, numbers);
  return <canvas ref={canvas} data-scene="other" />;
}

/** The size of an element in CSS pixels; null before it is known. */
function useSize(element: RefObject<HTMLElement | null>): Size | null {
  const [size, setSize] = useState<Size | null>(null);
  useEffect(() => {
    if (!element.current) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry && entry.contentRect.width > 0 && entry.contentRect.height > 0) setSize({ width: entry.contentRect.width, height: entry.contentRect.height });
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return size;
}

/** What is there is painted at once, where it belongs; what belongs there is asked for. */
function usePainting(session: Session, view: View, axis: SliceAxis, canvas: RefObject<HTMLCanvasElement | null>, size: Size | null, numbers: string): void {
  const shown = useRef<Region | null>(null);
  useEffect(() => {
    const element = canvas.current;
    const [left, top, right, bottom] = numbers.split(",").map(Number);
    if (!element || !size || left === undefined || top === undefined || right === undefined || bottom === undefined) return;
    const region = [left, top, right, bottom] as const;
    const pixels = { width: Math.max(1, Math.round(size.width * devicePixelRatio)), height: Math.max(1, Math.round(size.height * devicePixelRatio)) };
    if (element.width !== pixels.width || element.height !== pixels.height) Object.assign(element, pixels);
    shown.current = region;
    session.sliceImages.paint(view, axis, element, region);
    session.sliceViews.show({ axis, ...pixels, region, view });
  }, [session, view, axis, canvas, size, numbers]);
  useEffect(() => {
    const repaint = (): void => {
      if (canvas.current && shown.current) session.sliceImages.paint(view, axis, canvas.current, shown.current);
    };
    const stop = session.sliceImages.listen(view, axis, repaint);
    return () => {
      stop();
      session.sliceViews.hide(view, axis);
    };
  }, [session, view, axis, canvas]);
}

/** React's own wheel events cannot keep the page from zooming. Touchpads send a pinch as a wheel with Ctrl. */
function useWheel(panel: RefObject<HTMLDivElement | null>, session: Session, slice: ShownSlice, extent: Size): void {
  const latest = useRef({ slice, extent });
  useEffect(() => {
    latest.current = { slice, extent };
  });
  useEffect(() => {
    const element = panel.current;
    if (!element) return undefined;
    const turn = (event: WheelEvent): void => {
      event.preventDefault();
      const { slice: now, extent: around } = latest.current;
      if (!event.ctrlKey) return stepSlice(session, now, Math.round(-event.deltaY / STEP_PIXELS) || -Math.sign(event.deltaY));
      const box = element.getBoundingClientRect();
      const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height];
      const zoom = session.store.get().interface.sliceZoom[now.axis];
      return session.zoomSlice(now.axis, zoomedAt(zoom, Math.exp(-event.deltaY * ZOOM_PER_PIXEL), x, y, box, around));
    };
    element.addEventListener("wheel", turn, { passive: false });
    return () => element.removeEventListener("wheel", turn);
  }, [panel, session]);
}
