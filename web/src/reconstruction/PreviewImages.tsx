// The images that go into a slice: a projection and its sinogram, with the lines that can be dragged. Not here: the slice (SliceView.tsx).

import { useEffect, useRef, type CSSProperties, type ReactNode } from "react";
import { DragLine, rounded } from "../components/DragLine";
import { clamp } from "../geometry/vector";
import type { GreyWindow } from "../geometry/greyWindow";
import type { Recipe, ScanDescription, PreviewPosition, ReconstructionDraft } from "../protocol";
import type { Preview } from "./previewQueue";
import type { Previews } from "./previewStore";
import { besideMiddle, centerOf, slopeOf } from "./draft";
import { painted } from "./greyImage";
import { range, rowsOf } from "./region";

const CENTER_STEP = 0.25;
const MIN_RATIO = 0.8;
const MAX_RATIO = 3;

/** What changes, or what follows from the draft as it is by then. */
export type Change = (change: Partial<ReconstructionDraft> | ((draft: ReconstructionDraft) => Partial<ReconstructionDraft>)) => void;

interface InputsProps {
  scan: ScanDescription;
  draft: ReconstructionDraft;
  previews: Previews;
  onChange: Change;
}

export function Inputs({ scan, draft, previews, onChange }: InputsProps): ReactNode {
  const { projection, sinogram } = previews.images;
  const { recipe } = draft;
  const axisBeside = (columns: number, slope: number): ReactNode => <Axis scan={scan} recipe={recipe} beside={columns} slope={slope} onChange={onChange} />;
  return (
    <div className="workbench-inputs">
      <Frame name="Projection" note={`view ${draft.view} of ${scan.projections}`} ratio={clamp(scan.columns / scan.rows, MIN_RATIO, MAX_RATIO)}>
        <Canvas place="projection" preview={projection} />
        {axisBeside(0, slopeOf(recipe))}
        <RowRange scan={scan} draft={draft} onChange={onChange} />
        <DragLine label="Row" title="The row that is shown as a slice" value={draft.row} count={scan.rows} step={1} onChange={(row) => onChange({ row })} />
      </Frame>
      <input
        className="workbench-view"
        type="range"
        aria-label="View"
        title="The projection that is shown"
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

/** The first and the last row of the volume, to be dragged; what is left out is darker. */
function RowRange({ scan, draft, onChange }: Omit<InputsProps, "previews">): ReactNode {
  const [first, stop] = rowsOf(draft, scan);
  const { binning } = draft.recipe;
  const share = (row: number): string => `${(100 * row) / scan.rows}%`;
  return (
    <>
      <div className="workbench-left-out" style={{ top: 0, height: share(first) }} />
      <div className="workbench-left-out" style={{ bottom: 0, height: share(scan.rows - stop) }} />
      <DragLine label="First row" title="The first row of the volume" isEnd value={first} count={scan.rows} offset={0} step={1} onChange={(row) => onChange({ rows: range(Math.min(row, stop - binning), stop, scan.rows, binning) })} />
      <DragLine label="Last row" title="The last row of the volume" isEnd value={stop - 1} count={scan.rows} offset={1} step={1} onChange={(row) => onChange({ rows: range(first, Math.max(row + 1, first + binning), scan.rows, binning) })} />
    </>
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
      <DragLine label="Axis" isUpright isFaint={slope !== 0} value={center + beside} count={columns} step={CENTER_STEP} onChange={(value) => onChange({ recipe: { ...recipe, center: rounded(value - beside, 0.01) } })} />
    </>
  );
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

interface CanvasProps {
  place: PreviewPosition;
  preview: Preview | undefined;
  /** The grey window, where one was chosen. */
  window?: GreyWindow | null;
}

export function Canvas({ place, preview, window = null }: CanvasProps): ReactNode {
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element || !preview) return;
    const { header, image, grey, isExact, recipe } = preview;
    element.width = header.width;
    element.height = header.height;
    const context = element.getContext("2d");
    if (grey && window) context?.putImageData(painted(grey, window), 0, 0);
    else context?.drawImage(image, 0, 0);
    const [low, high] = window ?? [header.low, header.high];
    // For tests: which image this is.
    Object.assign(element.dataset, { isExact, index: header.index, center: header.center ?? "", low, high, recipe: JSON.stringify(recipe) });
  }, [preview, window]);
  return <canvas ref={canvas} data-place={place} />;
}
