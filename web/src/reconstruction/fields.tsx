// Rows of a form. Here: a number, a text, the size of a pixel, each with its name.

import { useState, type ReactNode } from "react";
import { NumberField, parse } from "../components/NumberField";

interface NumbersProps {
  label: string;
  hint: string;
  value: number;
  step: number;
  least?: number;
  most?: number;
  isDisabled?: boolean;
  text?: (value: number) => string;
  /** Shown after the number. */
  aside?: ReactNode;
  onChange: (value: number) => void;
}

export function Numbers({ label, hint, value, least = 0, most = Infinity, aside, ...rest }: NumbersProps): ReactNode {
  return (
    <div className="row">
      <span className="label">
        {label} <span className="hint">{hint}</span>
      </span>
      <NumberField label={label} value={value} low={least} high={most} {...rest} />
      {aside}
    </div>
  );
}

interface TextFieldProps {
  label: string;
  example: string;
  value: string;
  onChange: (text: string) => void;
}

/** Typed text counts on Enter, and when the field loses the focus. */
export function TextField({ label, example, value, onChange }: TextFieldProps): ReactNode {
  const [typed, setTyped] = useState<string | null>(null);
  const commit = (): void => {
    if (typed !== null && typed.trim() !== value) onChange(typed.trim());
    setTyped(null);
  };
  return (
    <label className="row workbench-text">
      <span className="label">{label}</span>
      <input
        className="field"
        type="text"
        spellCheck={false}
        placeholder={example}
        title={`${label}: ${example}`}
        value={typed ?? value}
        onChange={(event) => setTyped(event.currentTarget.value)}
        onKeyDown={(event) => (event.key === "Enter" ? commit() : undefined)}
        onBlur={commit}
      />
    </label>
  );
}

/** The size of a pixel. known: what the file says. */
export function PixelField({ known, value, onChange }: { known: number | null; value: number | null; onChange: (micrometres: number | null) => void }): ReactNode {
  return <TextField label="Pixel (µm)" example={known ? String(known) : "unknown"} value={value === null ? "" : String(value)} onChange={(text) => onChange(parse(text) > 0 ? parse(text) : null)} />;
}
