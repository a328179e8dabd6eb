// Three slices through one voxel, or one of them large. Here: their images, the cross-hair that joins them, zooming.
// Not here: cutting them (the instance).

import { useEffect, useRef, useState, type PointerEvent, type ReactNode, type RefObject } from "react";
import { IconButton } from "../components/Button";
import { directionsOf, NAMES, placeOf, stepped, voxelAt, type Directions, type Voxel } from "../geometry/slices";
import { panned, WHOLE, zoomedAt, type Zoom } from "../geometry/zoom";
import type { Axis, LayerDescription, SlicePlane } from "../protocol";
import { useSession } from "../session/session";
import { canControl } from "../state/selectors";
import { useSelect } from "../state/store";
import { percent } from "./projection";

const STEP_PIXELS = 40;
const ZOOM_PER_PIXEL = 0.005;
const ZOOM_PER_KEY = 1.5;

export function Slices(): ReactNode {
  const crossHair = useSelect((state) => state.crossHair);
  const layer = useSelect((state) => state.layers?.layers[state.crossHair?.layer ?? 0] ?? null);
  const large = useSelect((state) => state.interface.largeSlice);
  if (!crossHair?.voxel || !layer) return null;
  return (
    <aside className={large ? "slices is-large" : "slices"} aria-label="Slices">
      {NAMES.map((axis, order) =>
        large === null || large === axis ? (
          <Slice key={axis} axis={axis} plane={layer.planes[order] ?? layer.planes[0]} voxel={crossHair.voxel ?? [0, 0, 0]} layer={layer} index={crossHair.layer} />
        ) : null,
      )}
    </aside>
  );
}

interface SliceProps {
  axis: Axis;
  plane: SlicePlane;
  voxel: Voxel;
  layer: LayerDescription;
  index: number;
}

function Slice({ axis, plane, voxel, layer, index }: SliceProps): ReactNode {
  const session = useSession();
  const mayControl = useSelect(canControl);
  const isLarge = useSelect((state) => state.interface.largeSlice === axis);
  const [under, setUnder] = useState<Voxel | null>(null);
  const directions = directionsOf(plane);
  const cut = (next: Voxel): void => {
    if (mayControl) session.cut(next, index);
  };
  const position = voxel[directions.across] ?? 0;
  const last = (layer.shape[directions.across] ?? 1) - 1;
  return (
    <div className={`slice is-${axis}`}>
      <SliceImage axis={axis} directions={directions} voxel={voxel} layer={layer} cut={cut} hover={setUnder} />
      <span className="slice-size grows">
        <IconButton icon="expand" label={isLarge ? "Show all slices" : `Enlarge the slice across ${axis}`} isOn={isLarge} onClick={() => session.enlargeSlice(isLarge ? null : axis)} />
      </span>
      <span className="slice-name number grows">
        <b>{axis}</b> {position} <span className="hint">/ {last}</span>
        {under ? <span className="hint"> (z, y, x) {under.join(", ")}</span> : null}
      </span>
    </div>
  );
}

interface ImageProps {
  axis: Axis;
  directions: Directions;
  voxel: Voxel;
  layer: LayerDescription;
  cut: (voxel: Voxel) => void;
  hover: (voxel: Voxel | null) => void;
}

function SliceImage({ axis, directions, voxel, layer, cut, hover }: ImageProps): ReactNode {
  const session = useSession();
  const canvas = useRef<HTMLCanvasElement>(null);
  const frame = useRef<HTMLDivElement>(null);
  const [held, setHeld] = useState<"aim" | "pan" | null>(null);
  const [zoom, setZoom] = useState(WHOLE);
  const { across, right, upright } = directions;
  useEffect(() => (canvas.current ? session.painter.attach(axis, canvas.current) : undefined), [session, axis]);
  const step = (steps: number): void => cut(stepped(directions, voxel, steps, layer.shape));
  useWheel(frame, step, setZoom);
  const at = (event: PointerEvent): Voxel => {
    const box = event.currentTarget.getBoundingClientRect();
    return voxelAt(directions, (event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height, voxel, layer.shape);
  };
  const move = (event: PointerEvent): void => {
    hover(at(event));
    if (held === "aim") cut(at(event));
    else if (held === "pan" && frame.current) setZoom(panned(zoom, event.movementX, event.movementY, sizeOf(frame.current)));
  };
  const width = (layer.shape[right] ?? 1) * (layer.spacing[right] ?? 1);
  const height = (layer.shape[upright] ?? 1) * (layer.spacing[upright] ?? 1);
  const { u, v } = placeOf(directions, voxel, layer.shape);
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
          aria-valuemax={(layer.shape[across] ?? 1) - 1}
          aria-valuenow={voxel[across] ?? 0}
          title="Wheel: next slice. Ctrl + wheel or + and −: zoom. Shift + drag: pan. 0: all of it."
          onKeyDown={(event) => {
            const way = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[event.key];
            const factor = { "+": ZOOM_PER_KEY, "=": ZOOM_PER_KEY, "-": 1 / ZOOM_PER_KEY, "0": 0 }[event.key];
            if (way === undefined && factor === undefined) return;
            event.preventDefault();
            if (way !== undefined) step(way);
            else if (frame.current) setZoom(zoomedAtMiddle(zoom, factor ?? 1, frame.current));
          }}
          onPointerDown={(event) => {
            event.currentTarget.setPointerCapture(event.pointerId);
            const isPan = event.shiftKey || event.button !== 0;
            setHeld(isPan ? "pan" : "aim");
            if (!isPan) cut(at(event));
          }}
          onPointerMove={move}
          onPointerUp={() => setHeld(null)}
          onPointerCancel={() => setHeld(null)}
          onPointerLeave={() => hover(null)}
          onContextMenu={(event) => event.preventDefault()}
        >
          <canvas ref={canvas} />
          <svg aria-hidden="true">
            <line className={`is-${nameOf(right)}`} x1={percent(u)} x2={percent(u)} y1="0" y2="100%" />
            <line className={`is-${nameOf(upright)}`} x1="0" x2="100%" y1={percent(v)} y2={percent(v)} />
          </svg>
        </div>
      </div>
    </div>
  );
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

const nameOf = (order: number): string => ["z", "y", "x"][order] ?? "x";
