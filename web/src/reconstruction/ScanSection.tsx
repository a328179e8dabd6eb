// What the files of a scan do not state. Here: when it is asked for, before anything is shown and beside the slice. Not here: the controls (ScanFields.tsx).

import { useEffect, useState, type ReactNode } from "react";
import { Button } from "../components/Button";
import { Section } from "../components/Section";
import type { ScanDescription, ScanOptions, Suggestion } from "../protocol";
import { datasetsOf } from "./requests";
import { ScanFields, type Part } from "./ScanFields";
import { NOTHING_FOUND } from "./scanParts";

/** What the parts of a scan may be; null until that is known. */
export function useSuggestion(path: string): Suggestion | null {
  const [suggestion, setSuggestion] = useState<Suggestion | null>(null);
  useEffect(() => {
    if (!path) return undefined;
    let isWanted = true;
    const onFound = (found: Suggestion): void => (isWanted ? setSuggestion(found) : undefined);
    datasetsOf(path).then(onFound, () => onFound(NOTHING_FOUND));
    return () => {
      isWanted = false;
    };
  }, [path]);
  return suggestion;
}

interface ScanSectionProps {
  path: string;
  options: ScanOptions;
  scan: ScanDescription;
  onChange: (options: ScanOptions) => void;
}

/** Of a scan that is shown. */
export function ScanSection({ path, options, scan, onChange }: ScanSectionProps): ReactNode {
  return (
    <Section title="Scan" isOpenAtFirst={false}>
      <FoundFields path={path} options={options} pixelKnown={scan.pixel_size_um} onChange={onChange} />
      {scan.assumptions.map((sentence) => (
        <p key={sentence} className="hint">
          {sentence}
        </p>
      ))}
    </Section>
  );
}

interface FoundFieldsProps {
  path: string;
  options: ScanOptions;
  pixelKnown: number | null;
  onChange: (options: ScanOptions) => void;
}

/** Choices are shown at once, and count once the scan was opened with them. */
function FoundFields({ path, options, pixelKnown, onChange }: FoundFieldsProps): ReactNode {
  const suggestion = useSuggestion(path);
  const [chosen, choose] = useState(options);
  const [known, setKnown] = useState(options);
  if (known !== options) {
    setKnown(options);
    choose(options);
  }
  const change = (next: ScanOptions): void => {
    choose(next);
    onChange(next);
  };
  return suggestion ? <ScanFields suggestion={suggestion} missing={[]} options={chosen} pixelKnown={pixelKnown} onChange={change} /> : null;
}

interface MissingFormProps {
  suggestion: Suggestion;
  /** What is wrong. */
  problem: string;
  /** What was chosen before. */
  options: ScanOptions;
  onSubmit: (options: ScanOptions) => void;
}

const PARTS: readonly Part[] = ["projections", "angles", "flats", "darks"];
const LACKING: Record<Part, RegExp> = { projections: /look like projections|projections with several names/, angles: /does not state the angles/, flats: /has no flats|several kinds of flats/, darks: /has no darks|several kinds of darks/ };

/** Of a scan that lacks something: what is chosen counts once all of it is. */
export function MissingForm({ suggestion, problem, options, onSubmit }: MissingFormProps): ReactNode {
  const isUnmarked = !suggestion.is_recognised;
  const [draft, setDraft] = useState<ScanOptions>(() => (isUnmarked && !options.projections ? suggestion.options : options));
  // Said once, it stays missing: choosing one part reveals that another is missing, too.
  const [missing, setMissing] = useState<readonly Part[]>([]);
  const lacking = PARTS.filter((part) => LACKING[part].test(problem) && !missing.includes(part));
  if (lacking.length > 0) setMissing([...missing, ...lacking]);
  const needed = isUnmarked ? PARTS : missing;
  const isComplete = needed.every((part) => draft[part] !== "");
  return (
    <form
      className="section-body workbench-parts"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(draft);
      }}
    >
      <p>{isUnmarked ? "This is not marked as a scan. Choose which of its datasets or files is which." : "Choose what the scan does not state."}</p>
      <ScanFields suggestion={suggestion} missing={missing} options={draft} pixelKnown={null} onChange={setDraft} />
      <Button look="main" isWide isSubmit isDisabled={!isComplete} title="Open the scan with these parts" onClick={() => undefined}>
        Read as a scan
      </Button>
    </form>
  );
}
