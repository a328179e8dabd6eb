// What the files of a scan do not state. Here: a control for each part. Not here: when it is asked for (ScanSection.tsx), how it is spelt (scanParts.ts).

import { useState, type ReactNode } from "react";
import { Segmented, Select, Switch, type Option } from "../components/Choice";
import { NumberField } from "../components/NumberField";
import type { Dataset, ScanOptions, Suggestion } from "../protocol";
import { PixelField, TextField } from "./fields";
import { angleRange, angleText, beforeAndAfter, isLogFile, joined, labelOf, NONE, numbered, numberedText } from "./scanParts";

type FramePart = "projections" | "flats" | "darks";
export type Part = FramePart | "angles";
type Kind = "stated" | "half" | "full" | "range" | "list";

/** Stand for what is typed. */
const OTHER = "other";
const NUMBERED = "numbered";
const TURNS = { half: 180, full: 360 };
const NO_FRAMES: Record<FramePart, string> = { projections: "", flats: "None (already flat-corrected)", darks: "None (dark level 0)" };

interface ScanFieldsProps {
  suggestion: Suggestion;
  options: ScanOptions;
  /** Parts of which is known that the scan does not state them. */
  missing: readonly Part[];
  /** The size of a pixel that the scan states. */
  pixelKnown: number | null;
  onChange: (options: ScanOptions) => void;
}

export function ScanFields({ suggestion, options, missing, pixelKnown, onChange }: ScanFieldsProps): ReactNode {
  const set = (change: Partial<ScanOptions>): void => onChange({ ...options, ...change });
  const isMissing = (part: Part): boolean => !suggestion.is_recognised || missing.includes(part);
  return (
    <>
      <FramesField part="projections" suggestion={suggestion} options={options} isMissing={isMissing("projections")} onChange={set} />
      <AnglesField lists={suggestion.lists} isMissing={isMissing("angles")} value={options.angles} onChange={(angles) => set({ angles })} />
      <FramesField part="flats" suggestion={suggestion} options={options} isMissing={isMissing("flats")} onChange={set} />
      <FramesField part="darks" suggestion={suggestion} options={options} isMissing={isMissing("darks")} onChange={set} />
      <PixelField known={pixelKnown} value={options.pixel_size_um} onChange={(pixel_size_um) => set({ pixel_size_um })} />
    </>
  );
}

interface AnglesFieldProps {
  lists: readonly Dataset[];
  isMissing: boolean;
  value: string;
  onChange: (text: string) => void;
}

function kindOf(text: string, isRangeOpen: boolean): Kind {
  const range = angleRange(text);
  if (!range) return text === "" ? "stated" : "list";
  if (isRangeOpen || range.first !== 0) return "range";
  return range.last === TURNS.half ? "half" : range.last === TURNS.full ? "full" : "range";
}

function AnglesField({ lists, isMissing, value, onChange }: AnglesFieldProps): ReactNode {
  const [chosen, choose] = useState<Kind | null>(null);
  const kind = chosen ?? kindOf(value, false);
  const range = angleRange(value) ?? { first: 0, last: TURNS.half, isInclusive: false };
  const pick = (next: Kind): void => {
    choose(next === "range" || next === "list" ? next : null);
    if (next === "stated") onChange("");
    if (next === "half" || next === "full") onChange(angleText({ ...range, first: 0, last: TURNS[next] }));
    if (next === "range" && !angleRange(value)) onChange(angleText(range));
    if (next === "list") onChange(lists[0]?.name ?? "");
  };
  const kinds: Option<Kind>[] = [
    ...(isMissing ? [] : [{ value: "stated" as const, label: "As stated", title: "The angles that the scan states" }]),
    { value: "half", label: "0–180°", title: "Evenly spaced over half a turn" },
    { value: "full", label: "0–360°", title: "Evenly spaced over a full turn" },
    { value: "range", label: "Range…", title: "Evenly spaced between two angles" },
    { value: "list", label: "List…", title: "A dataset or a file with one angle per projection" },
  ];
  return (
    <div className="stack">
      <span className="label">Angles</span>
      <Segmented<Kind> label="Angles" value={kind} options={kinds} onChange={pick} />
      {kind === "range" ? (
        <div className="row workbench-range">
          <span className="label">From</span>
          <NumberField label="First angle" title="The angle of the first projection, in degrees" value={range.first} text={String} onChange={(first) => onChange(angleText({ ...range, first }))} />
          <span className="hint">to</span>
          <NumberField label="Last angle" title="Where the turn ends, in degrees" value={range.last} text={String} onChange={(last) => onChange(angleText({ ...range, last }))} />
          <span className="hint">°</span>
        </div>
      ) : null}
      {kind === "list" ? <ListField lists={lists} value={value} onChange={onChange} /> : null}
      {angleRange(value) && kind !== "list" ? (
        <Switch label={`The last projection is at ${range.last}°`} title="If this is off, it is one step before that angle" isOn={range.isInclusive} onChange={(isInclusive) => onChange(angleText({ ...range, isInclusive }))} />
      ) : null}
    </div>
  );
}

function ListField({ lists, value, onChange }: { lists: readonly Dataset[]; value: string; onChange: (text: string) => void }): ReactNode {
  const [isTyped, setTyped] = useState(() => !lists.some(({ name }) => name === value));
  const options: Option<string>[] = [...lists.map((one) => ({ value: one.name, label: labelOf(one, isLogFile(one)) })), { value: OTHER, label: "Another file…" }];
  const pick = (next: string): void => {
    setTyped(next === OTHER);
    onChange(next === OTHER ? "" : next);
  };
  return (
    <>
      <Select label="Angle list" title="Datasets of the scan, and text files beside it, with a list of numbers" value={isTyped ? OTHER : value} options={options} onChange={pick} />
      {isTyped ? <TextField label="File with angles" example="/folder/angles.txt" value={value} onChange={onChange} /> : null}
    </>
  );
}

interface FramesFieldProps {
  part: FramePart;
  suggestion: Suggestion;
  options: ScanOptions;
  isMissing: boolean;
  onChange: (change: Partial<ScanOptions>) => void;
}

const TITLES: Record<FramePart, string> = {
  projections: "The frames that show the sample",
  flats: "Frames without the sample, with the beam on",
  darks: "Frames with the beam off",
};

function FramesField({ part, suggestion, options, isMissing, onChange }: FramesFieldProps): ReactNode {
  const [value, after] = beforeAndAfter(options[part]);
  const label = `${part.charAt(0).toUpperCase()}${part.slice(1)}`;
  const found = suggestion.frames.filter(({ name }) => part === "projections" || name !== options.projections).map((one) => ({ value: one.name, label: labelOf(one, false) }));
  const isKnown = value === "" || value === NONE || found.some((one) => one.value === value);
  const [isTyped, setTyped] = useState(() => !isKnown && !numbered(value));
  const range = numbered(value);
  const isLast = after === "";
  const pick = (next: string): void => {
    setTyped(next === OTHER);
    onChange({ [part]: next === OTHER ? "" : next === NUMBERED ? numberedText(0, 9) : joined(next, next === NONE || next === "" ? "" : after) });
  };
  const choices: Option<string>[] = [
    { value: "", label: isMissing ? "Choose…" : "As stated" },
    ...found,
    ...(NO_FRAMES[part] ? [{ value: NONE, label: NO_FRAMES[part] }] : []),
    { value: NUMBERED, label: "Some of the frames…" },
    { value: OTHER, label: "Another file…" },
  ];
  return (
    <>
      <Select label={label} title={TITLES[part]} value={isTyped ? OTHER : range ? NUMBERED : value} options={choices} onChange={pick} />
      {range && !isTyped ? (
        <div className="row workbench-range">
          <span className="label">Frames</span>
          <NumberField label={`${label}, first frame`} value={range[0]} low={0} text={String} onChange={(first) => onChange({ [part]: numberedText(Math.round(first), range[1]) })} />
          <span className="hint">to</span>
          <NumberField label={`${label}, last frame`} value={range[1]} low={0} text={String} onChange={(last) => onChange({ [part]: numberedText(range[0], Math.round(last)) })} />
        </div>
      ) : null}
      {isTyped ? <TextField label={`${label} file`} example="/folder/file.h5 or the name of a dataset" value={value} onChange={(text) => onChange({ [part]: text })} /> : null}
      {part !== "projections" && found.some((one) => one.value === value) && found.length > 1 ? (
        <Select label={`${label} after`} title={`${TITLES[part]}, taken after the projections`} value={isLast ? "" : after} options={[{ value: "", label: "None" }, ...found.filter((one) => one.value !== value)]} onChange={(next) => onChange({ [part]: joined(value, next) })} />
      ) : null}
    </>
  );
}
