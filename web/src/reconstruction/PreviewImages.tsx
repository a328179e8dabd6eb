// The images of a draft: a projection, its sinogram and the slice, each with the lines that can be dragged.

import { useEffect, useRef, useState, type CSSProperties, type KeyboardEvent, type PointerEvent, type ReactNode } from "react";
import { clamp } from "../geometry/vector";
import { short } from "../geometry/measures";
import type { Recipe, ScanDescription, PreviewPosition, ReconstructionDraft } from "../protocol";
import type { Preview } from "./previewQueue";
import type { Previews } from "./previewStore";
import { before, besideMiddle, centerOf, slopeOf } from "./draft";

/** Columns of the axis for a pixel of the mouse, over the slice. */
const FINE = 0.1;
const CENTER_STEP = 0.25;
const MIN_RATIO = 0.8;
const MAX_RATIO = 3;

/** What changes, or what follows from the draft as it is by then. */
export type Change = (change: Partial<ReconstructionDraft> | ((draft: ReconstructionDraft) => Partial<ReconstructionDraft>)) => void;

interface PreviewImagesProps {
  scan: ScanDescription;
  draft: ReconstructionDraft;
  previews: Previews;
  onChange: Change;
  /** Over the slice. */
  children?: ReactNode;
}

export function Inputs({ scan, draft, previews, onChange }: PreviewImagesProps): ReactNode {
  const { projection, sinogram } = previews.images;
  const { recipe } = draft;
  const axisBeside = (columns: number, slope: number): ReactNode => <Axis scan={scan} recipe={recipe} beside={columns} slope={slope} onChange={onChange} />;
  return (
    <div className="workbench-inputs">
      <Frame name="Projection" note={`view ${draft.view} of ${scan.projections}`} ratio={clamp(scan.columns / scan.rows, MIN_RATIO, MAX_RATIO)}>
        <Canvas place="projection" preview={projection} />
        {axisBeside(0, slopeOf(recipe))}
        <Line label="Row" value={draft.row} count={scan.rows} step={1} onChange={(row) => onChange({ row })} />
      </Frame>
      <input
        className="workbench-view"
        type="range"
        aria-label="View"
        min={0}
        max={scan.projections - 1}
        value={draft.view}
        style={{ "--filled": `${(100 * draft.view) / Math.max(1, scan.projections - 1)}%` } as CSSProperties}
        onChange={(event) => onChange({ view: Number(event.currentTarget.value) })}
      />
      <Frame name="Sinogram" note={`row ${draft.row}`} ratio={null}>
        <Canvas place="sinogram" preview={sinogram} />
        {axisBeside(besideMiddle(recipe, draft.row, scan.rows), 0)}
      </Frame>
    </div>
  );
}

interface AxisProps {
  scan: ScanDescription;
  recipe: Recipe;
  /** Columns from where it is in the middle row to where it is here. */
  beside: number;
  /** Columns from one row to the next. */
  slope: number;
  onChange: Change;
}

function Axis({ scan, recipe, beside, slope, onChange }: AxisProps): ReactNode {
  const center = centerOf(recipe);
  if (center === null) return null;
  const { columns, rows } = scan;
  const away = (slope * rows) / 2;
  return (
    <>
      {slope === 0 ? null : (
        <svg className="workbench-aslant" viewBox={`-0.5 0 ${columns} 1`} preserveAspectRatio="none" aria-hidden>
          <line x1={center - away} x2={center + away} y1={0} y2={1} vectorEffect="non-scaling-stroke" />
        </svg>
      )}
      <Line label="Axis" isUpright isFaint={slope !== 0} value={center + beside} count={columns} step={CENTER_STEP} onChange={(value) => onChange({ recipe: { ...recipe, center: rounded(value - beside, 0.01) } })} />
    </>
  );
}

export function Slice({ scan, draft, previews, onChange, children }: PreviewImagesProps): ReactNode {
  const [split, setSplit] = useState(0.5);
  const { slice, before: earlier } = previews.images;
  const isCompared = before(draft.recipe, draft.compare) !== null;
  const held = useRef<{ x: number; center: number } | null>(null);
  const center = centerOf(draft.recipe);
  const drag = (event: PointerEvent): void => {
    if (!held.current) return;
    const moved = held.current.center + (event.clientX - held.current.x) * FINE * (event.shiftKey ? FINE : 1);
    onChange({ recipe: { ...draft.recipe, center: rounded(clamp(moved, 0, scan.columns - 1), 0.01) } });
  };
  return (
    <Frame name="Slice" note={noteOf(slice, draft)} ratio={1} isLarge>
      <div
        className="workbench-slice"
        onPointerDown={(event) => {
          if (center === null || event.button !== 0) return;
          event.currentTarget.setPointerCapture(event.pointerId);
          held.current = { x: event.clientX, center };
        }}
        onPointerMove={drag}
        onPointerUp={() => (held.current = null)}
        onPointerCancel={() => (held.current = null)}
      >
        {slice ? null : <p className="hint workbench-waiting">{center === null ? "Finding the rotation axis…" : "Reconstructing the slice…"}</p>}
        <Canvas place="slice" preview={slice} />
        {isCompared ? (
          <div className="workbench-before" style={{ clipPath: `inset(0 ${100 - 100 * split}% 0 0)` }}>
            <Canvas place="before" preview={earlier} />
          </div>
        ) : null}
      </div>
      {children}
      {isCompared ? (
        <>
          <span className="workbench-tag is-left">before</span>
          <span className="workbench-tag is-right">after</span>
          <Line label="Before and after" isUpright value={split * 100} count={100} step={1} onChange={(place) => setSplit(place / 100)} />
        </>
      ) : null}
    </Frame>
  );
}

function noteOf(slice: Preview | undefined, { row, recipe }: ReconstructionDraft): string {
  const place = recipe.binning > 1 ? `row ${row}, slice ${Math.floor(row / recipe.binning)}` : `row ${row}`;
  if (!slice) return place;
  const { low, high, unit, radius_px, voxels } = slice.header;
  const smooth = radius_px === null || !recipe.phase ? "" : ` · phase smoothing radius ${short(radius_px)} pixels`;
  const coarse = slice.isExact && voxels > 1 ? ` · ${voxels} × ${voxels} pixels binned` : "";
  return `${place} · grey range ${short(low, 3)} to ${short(high, 3)} ${unit}${smooth}${coarse}`;
}

interface FrameProps {
  name: string;
  note: string;
  /** Width over height; null fills the available space. */
  ratio: number | null;
  isLarge?: boolean;
  children: ReactNode;
}

export function Frame({ name, note, ratio, isLarge = false, children }: FrameProps): ReactNode {
  const style = ratio === null ? {} : { "--ratio": ratio };
  return (
    <figure className={isLarge ? "workbench-figure is-large" : "workbench-figure"} aria-label={name} style={style as CSSProperties}>
      <figcaption>
        <b>{name}</b> <span className="hint number">{note}</span>
      </figcaption>
      <div className="workbench-frame">
        <div className="workbench-image">{children}</div>
      </div>
    </figure>
  );
}

function Canvas({ place, preview }: { place: PreviewPosition; preview: Preview | undefined }): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element || !preview) return;
    const { header, image, isExact, recipe } = preview;
    element.width = header.width;
    element.height = header.height;
    element.getContext("2d")?.drawImage(image, 0, 0);
    // For tests: which image this is.
    Object.assign(element.dataset, { isExact, index: header.index, center: header.center ?? "", low: header.low, high: header.high, recipe: JSON.stringify(recipe) });
  }, [preview]);
  return <canvas ref={canvas} data-place={place} />;
}

interface LineProps {
  label: string;
  value: number;
  /** Pixels there are across; pixel n has its middle at n. */
  count: number;
  step: number;
  isUpright?: boolean;
  isFaint?: boolean;
  onChange: (value: number) => void;
}

/** A line over an image, to be dragged or stepped. */
export function Line({ label, value, count, step, isUpright = false, isFaint = false, onChange }: LineProps): ReactNode {
  const [isHeld, setHeld] = useState(false);
  const put = (next: number): void => onChange(rounded(clamp(next, 0, count - 1), step));
  const aim = (event: PointerEvent): void => {
    const frame = event.currentTarget.parentElement?.getBoundingClientRect();
    if (!isHeld || !frame) return;
    const share = isUpright ? (event.clientX - frame.left) / frame.width : (event.clientY - frame.top) / frame.height;
    put(share * count - 0.5);
  };
  const press = (event: KeyboardEvent): void => {
    const way = { ArrowRight: 1, ArrowDown: isUpright ? -1 : 1, ArrowLeft: -1, ArrowUp: isUpright ? 1 : -1, PageUp: 10, PageDown: -10 }[event.key];
    if (way === undefined) return;
    event.preventDefault();
    put(value + way * step * (event.shiftKey ? 10 : 1));
  };
  const place = `${clamp((100 * (value + 0.5)) / count, 0, 100)}%`;
  return (
    <div
      className={`workbench-line${isUpright ? " is-upright" : ""}${isFaint ? " is-faint" : ""}`}
      style={isUpright ? { left: place } : { top: place }}
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-orientation={isUpright ? "horizontal" : "vertical"}
      aria-valuemin={0}
      aria-valuemax={count - 1}
      aria-valuenow={value}
      onKeyDown={press}
      onPointerDown={(event) => {
        event.currentTarget.setPointerCapture(event.pointerId);
        setHeld(true);
      }}
      onPointerMove={aim}
      onPointerUp={() => setHeld(false)}
      onPointerCancel={() => setHeld(false)}
    />
  );
}

const rounded = (value: number, step: number): number => Number((Math.round(value / step) * step).toFixed(4));
