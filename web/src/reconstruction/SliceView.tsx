// The slice. Here: its image, zoomed and panned, the value under the cursor, the crop, before and after. Not here: its controls (SliceBar.tsx).

import { useEffect, useEffectEvent, useRef, useState, type CSSProperties, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { DragLine, rounded } from "../components/DragLine";
import { short } from "../geometry/measures";
import { clamp } from "../geometry/vector";
import type { ReconstructionDraft, ScanDescription } from "../protocol";
import { before, centerOf } from "./draft";
import { valueAt } from "./greyImage";
import { Canvas, Frame, type Change } from "./PreviewImages";
import type { Preview } from "./previewQueue";
import type { Previews } from "./previewStore";
import { cropFrom, type Crop } from "./region";
import type { SliceTools } from "./sliceTools";
import { inImage, MAX_SCALE, panned, WHOLE, ZOOM_STEP, zoomedAt, type Zoom } from "./sliceZoom";

/** Columns of the axis for a pixel of the mouse, over the slice. */
const FINE = 0.1;
const WHEEL = 0.0015;
const PAN_STEP = 0.1;

interface SliceViewProps {
  scan: ScanDescription;
  draft: ReconstructionDraft;
  previews: Previews;
  tools: SliceTools;
  onChange: Change;
  /** Over the slice. */
  children?: ReactNode;
}

interface Held {
  x: number;
  y: number;
  center: number;
  zoom: Zoom;
}

export function Slice({ scan, draft, previews, tools, onChange, children }: SliceViewProps): ReactNode {
  const [split, setSplit] = useState(0.5);
  const frame = useRef<HTMLDivElement>(null);
  const { slice, before: earlier } = previews.images;
  const { zoom, window } = tools;
  const isCompared = before(draft.recipe, draft.compare) !== null;
  const center = centerOf(draft.recipe);
  const [cursor, setCursor] = useState<[number, number] | null>(null);
  const shares = (event: { clientX: number; clientY: number }): [number, number] => {
    const box = frame.current?.getBoundingClientRect();
    return box ? [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height] : [0, 0];
  };
  const pointers = usePointers({ scan, draft, tools, onChange }, slice?.header.edge || scan.columns, shares, center);
  useWheel(frame, tools, shares);
  const style = { transform: `translate(${100 * zoom.x}%, ${100 * zoom.y}%) scale(${zoom.scale})` };
  const onLeft = 100 - 100 * clamp(inImage(zoom, zoom.x, split), 0, 1);
  return (
    <Frame name="Slice" note={noteOf(slice, draft, window)} ratio={1} isLarge>
      <div
        ref={frame}
        className={`workbench-slice is-${tools.drag}`}
        tabIndex={0}
        role="slider"
        aria-label="Zoom of the slice"
        aria-keyshortcuts="+ - 0"
        aria-valuemin={100}
        aria-valuemax={100 * MAX_SCALE}
        aria-valuenow={Math.round(100 * zoom.scale)}
        title={TITLES[tools.drag]}
        onKeyDown={(event) => press(event, tools)}
        onPointerMove={(event) => setCursor(shares(event))}
        onPointerLeave={() => setCursor(null)}
      >
        <div className={zoom.scale > 1 ? "workbench-zoomed is-large" : "workbench-zoomed"} style={style} {...pointers.handlers}>
          {slice ? null : <p className="hint workbench-waiting">{center === null ? "Finding the rotation axis…" : "Reconstructing the slice…"}</p>}
          <Canvas place="slice" preview={slice} window={window} />
          {isCompared ? (
            <div className="workbench-before" style={{ clipPath: `inset(0 ${onLeft}% 0 0)` }}>
              <Canvas place="before" preview={earlier} window={window ?? (slice ? [slice.header.low, slice.header.high] : null)} />
            </div>
          ) : null}
          <CropFrame crop={pointers.drawn ?? draft.crop ?? null} edge={slice?.header.edge || scan.columns} />
          {children}
        </div>
      </div>
      <Value preview={slice} cursor={cursor} zoom={zoom} />
      {isCompared ? (
        <>
          <span className="workbench-tag is-left">before</span>
          <span className="workbench-tag is-right">after</span>
          <DragLine label="Before and after" isUpright value={split * 100} count={100} step={1} onChange={(place) => setSplit(place / 100)} />
        </>
      ) : null}
    </Frame>
  );
}

const TITLES = {
  axis: "Drag sideways to move the axis; the wheel zooms",
  pan: "Drag to move the slice; the wheel zooms",
  crop: "Drag over the part of the slice to keep; the wheel zooms",
};

type Pointed = Pick<SliceViewProps, "scan" | "draft" | "tools" | "onChange">;
type Shares = (event: { clientX: number; clientY: number }) => [number, number];

/** What dragging does: one pointer as was chosen, two zoom. */
function usePointers({ scan, draft, tools, onChange }: Pointed, edge: number, shares: Shares, center: number | null): { drawn: Crop | null; handlers: object } {
  const held = useRef<Held | null>(null);
  const fingers = useRef(new Map<number, [number, number]>());
  const [drawn, setDrawn] = useState<Crop | null>(null);
  const cropTo = (event: PointerEvent, from: Held): Crop | null => {
    const { zoom } = tools;
    const at = ([x, y]: [number, number]): [number, number] => [inImage(zoom, zoom.x, x), inImage(zoom, zoom.y, y)];
    const [left, top] = at(shares({ clientX: from.x, clientY: from.y }));
    const [right, bottom] = at(shares(event));
    return cropFrom(edge, draft.recipe.binning, left, top, right, bottom);
  };
  const pinch = (event: PointerEvent): void => {
    const [one, other] = [...fingers.current].filter(([id]) => id !== event.pointerId).map(([, place]) => place).concat([shares(event)]);
    const last = fingers.current.get(event.pointerId);
    if (!one || !other || !last) return;
    const length = ([x, y]: [number, number]): number => Math.hypot(x - one[0], y - one[1]) || 1e-3;
    tools.set({ zoom: zoomedAt(tools.zoom, length(other) / length(last), (one[0] + other[0]) / 2, (one[1] + other[1]) / 2) });
    fingers.current.set(event.pointerId, shares(event));
  };
  const move = (event: PointerEvent): void => {
    if (fingers.current.size > 1) return pinch(event);
    const from = held.current;
    if (!from) return;
    if (tools.drag === "axis") {
      const moved = from.center + (event.clientX - from.x) * FINE * (event.shiftKey ? FINE : 1);
      onChange({ recipe: { ...draft.recipe, center: rounded(clamp(moved, 0, scan.columns - 1), 0.01) } });
    } else if (tools.drag === "crop") setDrawn(cropTo(event, from));
    else {
      const [[x, y], [startX, startY]] = [shares(event), shares({ clientX: from.x, clientY: from.y })];
      tools.set({ zoom: panned(from.zoom, x - startX, y - startY) });
    }
  };
  const end = (event: PointerEvent, isDone: boolean): void => {
    fingers.current.delete(event.pointerId);
    if (isDone && held.current && tools.drag === "crop" && drawn) onChange({ crop: drawn });
    held.current = null;
    setDrawn(null);
  };
  const begin = (event: PointerEvent): void => {
    if (event.button !== 0 || (tools.drag === "axis" && center === null)) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    fingers.current.set(event.pointerId, shares(event));
    held.current = fingers.current.size > 1 ? null : { x: event.clientX, y: event.clientY, center: center ?? 0, zoom: tools.zoom };
  };
  return { drawn, handlers: { onPointerDown: begin, onPointerMove: move, onPointerUp: (event: PointerEvent) => end(event, true), onPointerCancel: (event: PointerEvent) => end(event, false) } };
}

/** React listens to the wheel without being able to keep the page where it is. */
function useWheel(frame: { current: HTMLElement | null }, tools: SliceTools, shares: Shares): void {
  const turn = useEffectEvent((event: WheelEvent) => {
    event.preventDefault();
    const [across, down] = shares(event);
    tools.set({ zoom: zoomedAt(tools.zoom, Math.exp(-event.deltaY * WHEEL), across, down) });
  });
  useEffect(() => {
    const element = frame.current;
    const listen = (event: WheelEvent): void => turn(event);
    element?.addEventListener("wheel", listen, { passive: false });
    return () => element?.removeEventListener("wheel", listen);
  }, [frame]);
}

function press(event: KeyboardEvent, { zoom, set }: SliceTools): void {
  if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
  const zooms: Record<string, Zoom> = { "+": zoomedAt(zoom, ZOOM_STEP, 0.5, 0.5), "=": zoomedAt(zoom, ZOOM_STEP, 0.5, 0.5), "-": zoomedAt(zoom, 1 / ZOOM_STEP, 0.5, 0.5), "0": WHOLE, ArrowLeft: panned(zoom, PAN_STEP, 0), ArrowRight: panned(zoom, -PAN_STEP, 0), ArrowUp: panned(zoom, 0, PAN_STEP), ArrowDown: panned(zoom, 0, -PAN_STEP) };
  const next = zooms[event.key];
  if (!next) return;
  event.preventDefault();
  event.stopPropagation();
  set({ zoom: next });
}

function CropFrame({ crop, edge }: { crop: Crop | null; edge: number }): ReactNode {
  if (!crop) return null;
  const [[top, bottom], [left, right]] = crop;
  const share = (pixels: number): string => `${(100 * pixels) / edge}%`;
  const style: CSSProperties = { left: share(left), top: share(top), width: share(right - left), height: share(bottom - top) };
  return <div className="workbench-crop" style={style} />;
}

/** The value under the cursor, with its voxel. */
function Value({ preview, cursor, zoom }: { preview: Preview | undefined; cursor: [number, number] | null; zoom: Zoom }): ReactNode {
  if (!preview || !cursor) return null;
  const { header, grey } = preview;
  const [x, y] = [inImage(zoom, zoom.x, cursor[0]), inImage(zoom, zoom.y, cursor[1])];
  const value = grey ? valueAt(grey, Math.floor(x * header.width), Math.floor(y * header.height)) : null;
  if (value === null) return null;
  const voxel = (share: number): number => Math.floor((share * header.edge) / preview.recipe.binning);
  return (
    <output className="workbench-tag is-value number" aria-label="Value under the cursor">
      x {voxel(x)}, y {voxel(y)}: {short(value, 4)} {header.unit}
    </output>
  );
}

function noteOf(slice: Preview | undefined, { row, recipe }: ReconstructionDraft, window: readonly [number, number] | null): string {
  const place = recipe.binning > 1 ? `row ${row}, slice ${Math.floor(row / recipe.binning)}` : `row ${row}`;
  if (!slice) return place;
  const { unit, radius_px, voxels } = slice.header;
  const [low, high] = window ?? [slice.header.low, slice.header.high];
  const smooth = radius_px === null || !recipe.phase ? "" : ` · phase smoothing radius ${short(radius_px)} pixels`;
  const coarse = slice.isExact && voxels > 1 ? ` · ${voxels} × ${voxels} pixels binned` : "";
  return `${place} · grey range ${short(low, 3)} to ${short(high, 3)} ${unit}${smooth}${coarse}`;
}
