// The controls of the slice. Here: what dragging does, zoom, the grey window. Not here: the slice itself (SliceView.tsx).

import type { ReactNode } from "react";
import { Button, IconButton } from "../components/Button";
import { Segmented } from "../components/Choice";
import { NumberField } from "../components/NumberField";
import { short } from "../geometry/measures";
import { withEnd, type GreyWindow } from "../geometry/greyWindow";
import { percentileWindow } from "./greyImage";
import type { Preview } from "./previewQueue";
import type { DragMode, SliceTools } from "./sliceTools";
import { WHOLE, ZOOM_STEP, zoomedAt } from "./sliceZoom";

/** Percent of the pixels that are left out at either end. */
const PERCENTILES = [
  { label: "1–99 %", percent: 1 },
  { label: "Min–max", percent: 0 },
];
const MIDDLE = 0.5;

export function SliceBar({ tools, slice }: { tools: SliceTools; slice: Preview | undefined }): ReactNode {
  return (
    <div className="workbench-bar">
      <Segmented<DragMode>
        label="Dragging on the slice"
        value={tools.drag}
        options={[
          { value: "axis", label: "Axis", title: "Dragging on the slice moves the rotation axis (Shift: finely)" },
          { value: "pan", label: "Pan", title: "Dragging on the slice moves it" },
          { value: "crop", label: "Crop", title: "Dragging on the slice draws the part that is reconstructed" },
        ]}
        onChange={(drag) => tools.set({ drag })}
      />
      <ZoomButtons {...tools} />
      <WindowControls tools={tools} slice={slice} />
    </div>
  );
}

function ZoomButtons({ zoom, set }: SliceTools): ReactNode {
  return (
    <div className="workbench-bar-group" role="group" aria-label="Zoom">
      <IconButton icon="minus" label="Zoom out" isDisabled={zoom.scale <= 1} onClick={() => set({ zoom: zoomedAt(zoom, 1 / ZOOM_STEP, MIDDLE, MIDDLE) })} />
      <IconButton icon="plus" label="Zoom in" onClick={() => set({ zoom: zoomedAt(zoom, ZOOM_STEP, MIDDLE, MIDDLE) })} />
      <Button look="plain" title="Show the whole slice" isDisabled={zoom.scale <= 1} onClick={() => set({ zoom: WHOLE })}>
        {`${Math.round(100 * zoom.scale)} %`}
      </Button>
    </div>
  );
}

function WindowControls({ tools: { window, set }, slice }: { tools: SliceTools; slice: Preview | undefined }): ReactNode {
  if (!slice) return null;
  const { header, grey } = slice;
  const shown: GreyWindow = window ?? [header.low, header.high];
  const span = grey ? grey.high - grey.low : header.high - header.low;
  const field = (label: string, end: "low" | "high", value: number): ReactNode => (
    <NumberField label={label} title={`${label}: the value that is ${end === "low" ? "black" : "white"}`} value={value} text={(number) => short(number, 3)} step={span / 100} onChange={(next) => set({ window: withEnd(shown, end, next, span) })} />
  );
  return (
    <div className="workbench-bar-group" role="group" aria-label="Grey window">
      <Button isOn={window === null} title="Choose the grey window for every slice" onClick={() => set({ window: null })}>
        Auto
      </Button>
      {PERCENTILES.map(({ label, percent }) => (
        <Button key={label} isDisabled={!grey} title={percent ? `Leave out ${percent} % of the pixels at either end` : "From the lowest to the highest value"} onClick={() => (grey ? set({ window: percentileWindow(grey, percent) }) : undefined)}>
          {label}
        </Button>
      ))}
      {field("Black", "low", shown[0])}
      {field("White", "high", shown[1])}
    </div>
  );
}
