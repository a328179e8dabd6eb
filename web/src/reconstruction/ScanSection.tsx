// What the files of a scan do not state. Here: a form for it. Not here: the steps (Settings.tsx).

import type { ReactNode } from "react";
import { Section } from "../components/Section";
import type { ScanDescription, ScanOptions } from "../protocol";
import { PixelField, TextField } from "./fields";

const FIELDS: readonly { name: "angles" | "flats" | "darks" | "projections"; label: string; example: string }[] = [
  { name: "angles", label: "Angles", example: "0:180, a dataset or a file" },
  { name: "flats", label: "Flats", example: "none, frames:0:10, a dataset" },
  { name: "darks", label: "Darks", example: "none, frames:0:10, a dataset" },
  { name: "projections", label: "Projections", example: "a dataset" },
];

interface ScanSectionProps {
  options: ScanOptions;
  scan: ScanDescription | null;
  onChange: (options: ScanOptions) => void;
}

/** What the files do not state. */
export function ScanSection({ options, scan, onChange }: ScanSectionProps): ReactNode {
  return (
    <Section title="Scan" isOpenAtFirst={scan === null}>
      {FIELDS.map(({ name, label, example }) => (
        <TextField key={name} label={label} example={example} value={options[name]} onChange={(text) => onChange({ ...options, [name]: text })} />
      ))}
      <PixelField known={scan?.pixel_size_um ?? null} value={options.pixel_size_um} onChange={(pixel_size_um) => onChange({ ...options, pixel_size_um })} />
      {scan?.assumptions.map((sentence) => (
        <p key={sentence} className="hint">
          {sentence}
        </p>
      ))}
    </Section>
  );
}
