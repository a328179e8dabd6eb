// A file that is not marked as a scan. Here: a form in which the user chooses its datasets. Not here: scans (ScanSection.tsx).

import { useState, type ReactNode } from "react";
import { Button } from "../components/Button";
import { Select, type Option } from "../components/Choice";
import type { Dataset, ScanOptions, Suggestion } from "../protocol";
import { PixelField, TextField } from "./fields";

type Part = "projections" | "angles" | "flats" | "darks";

/** Stands for a typed value. */
const OTHER = "other";
const UNSAID: Option<string> = { value: "", label: "Choose…" };
const TYPED: Option<string> = { value: OTHER, label: "Other…" };
const EVENLY: readonly Option<string>[] = [
  { value: "0:180", label: "Evenly spaced, 0 to 180°" },
  { value: "0:360", label: "Evenly spaced, 0 to 360°" },
];

interface DatasetFormProps {
  suggestion: Suggestion;
  /** What was chosen before. */
  options: ScanOptions;
  onSubmit: (options: ScanOptions) => void;
}

export function DatasetForm({ suggestion, options, onSubmit }: DatasetFormProps): ReactNode {
  const [draft, setDraft] = useState<ScanOptions>(() => (options.projections ? options : suggestion.options));
  const frames = suggestion.frames.map(named);
  const set = (part: Part, value: string): void => setDraft({ ...draft, [part]: value });
  const choices = (part: Part): readonly Option<string>[] => {
    if (part === "projections") return [UNSAID, ...frames];
    if (part === "angles") return [UNSAID, ...suggestion.lists.map(named), ...EVENLY, TYPED];
    return [UNSAID, ...frames.filter(({ value }) => value !== draft.projections), { value: "none", label: part === "flats" ? "None (already flat-corrected)" : "None (dark level 0)" }, TYPED];
  };
  const row = (part: Part, label: string): ReactNode => <DatasetRow key={part} label={label} value={draft[part]} options={choices(part)} onChange={(value) => set(part, value)} />;
  const isComplete = [draft.projections, draft.angles, draft.flats, draft.darks].every(Boolean);
  return (
    <div className="section-body workbench-parts">
      <p>This file is not marked as a scan. Choose which of its datasets is which.</p>
      {row("projections", "Projections")}
      {row("angles", "Angles")}
      {row("flats", "Flats")}
      {row("darks", "Darks")}
      <PixelField known={null} value={draft.pixel_size_um} onChange={(pixel_size_um) => setDraft({ ...draft, pixel_size_um })} />
      <Button look="main" isWide isDisabled={!isComplete} onClick={() => onSubmit(draft)}>
        Read as a scan
      </Button>
    </div>
  );
}

interface DatasetRowProps {
  label: string;
  value: string;
  options: readonly Option<string>[];
  onChange: (value: string) => void;
}

function DatasetRow({ label, value, options, onChange }: DatasetRowProps): ReactNode {
  const [isTyped, setTyped] = useState(() => !options.some((option) => option.value === value));
  const choose = (next: string): void => {
    setTyped(next === OTHER);
    onChange(next === OTHER ? "" : next);
  };
  const example = label === "Angles" ? "0:180:inclusive or a file" : "frames:0:10, a file, or before;after";
  return (
    <>
      <Select label={label} value={isTyped ? OTHER : value} options={options} onChange={choose} />
      {isTyped ? <TextField label={`${label} (text)`} example={example} value={value} onChange={onChange} /> : null}
    </>
  );
}

const named = ({ name, shape }: Dataset): Option<string> => ({ value: name, label: `${name}  (${shape.join(" × ")})` });
