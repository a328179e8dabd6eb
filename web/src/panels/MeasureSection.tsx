// Measures and notes: what to measure, the list with names and values, the list as a file.

import { useEffect, useRef, useState, type ReactNode } from "react";
import { Button, IconButton } from "../components/Button";
import { save } from "../components/files";
import { Section } from "../components/Section";
import { measureFile, profile, regionValues } from "../connection/requests";
import { hintFor, isMeasureKind, KINDS, sizeOf } from "../geometry/measuring";
import { short, unitText } from "../geometry/measures";
import type { Measure, MeasureKind, ProfileRequest, ProfileValues, RegionRequest, RegionValues } from "../protocol";
import { useSession } from "../session/session";
import { sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";
import { finishMeasure } from "../view/measuring";
import { sizeText } from "../view/Measures";
import { Plot } from "./Plot";

const NONE: readonly Measure[] = [];
const MAX_TEXT = 200;

export function MeasureSection(): ReactNode {
  const session = useSession();
  const measures = useSelect((state) => sceneOf(state)?.measures ?? NONE);
  const tool = useSelect((state) => state.interface.tool);
  const count = useSelect((state) => state.measurePoints.length);
  const unit = useSelect((state) => state.layers?.layers[0]?.unit ?? "");
  const kind = isMeasureKind(tool) ? tool : null;
  if (measures.length === 0 && kind === null) return null;
  const download = async (format: "csv" | "json"): Promise<void> => {
    const text = await session.attempt(measureFile(format));
    if (text !== null) save(new Blob([text], { type: format === "csv" ? "text/csv" : "application/json" }), `measures.${format}`);
  };
  const choose = (next: MeasureKind): void => {
    session.store.dispatch({ type: "measure-points", points: [] });
    session.page({ tool: next === kind ? "turn" : next });
  };
  return (
    <Section title="Measures" isInUse={kind !== null} aside={measures.length > 0 ? <IconButton icon="download" label="Download the measures as CSV" onClick={() => void download("csv")} /> : null}>
      <div className="chips row">
        {(Object.keys(KINDS) as MeasureKind[]).map((one) => (
          <button key={one} type="button" className="chip" aria-pressed={one === kind} title={hintFor(one, 0)} onClick={() => choose(one)}>
            {KINDS[one].name}
          </button>
        ))}
      </div>
      {kind ? <p className="hint">{hintFor(kind, count)}</p> : null}
      {measures.map((measure, index) => (
        <Card key={index} measure={measure} index={index} unit={unit} isNew={kind === "note" && index === measures.length - 1 && measure.text === ""} />
      ))}
      <div className="row">
        {kind && KINDS[kind].isOpen && count >= KINDS[kind].points ? <Button title="Finish at the last point (Enter)" onClick={() => finishMeasure(session)}>Finish</Button> : null}
        {kind ? <Button title="Stop measuring; the measures stay" onClick={() => choose(kind)}>Done</Button> : null}
        {measures.length > 0 ? <Button title="Download the measures as JSON" onClick={() => void download("json")}>JSON</Button> : null}
      </div>
    </Section>
  );
}

interface CardProps {
  measure: Measure;
  index: number;
  unit: string;
  /** A note that was just placed: its text is typed next. */
  isNew: boolean;
}

function Card({ measure, index, unit, isNew }: CardProps): ReactNode {
  const session = useSession();
  const isNote = measure.kind === "note";
  const label = KINDS[measure.kind].name;
  return (
    <div className="card measure">
      <div className="measure-head">
        <TextField label={`Name of measure ${index + 1}`} placeholder={label} value={measure.name} onChange={(name) => session.set(["measures", index, "name"], name)} />
        <b className="number">{sizeText(measure, unit)}</b>
        <IconButton
          icon={measure.is_visible ? "eye" : "hidden"}
          label={measure.is_visible ? `Hide measure ${index + 1}` : `Show measure ${index + 1}`}
          onClick={() => session.set(["measures", index, "is_visible"], !measure.is_visible)}
        />
        <IconButton icon="trash" label={`Remove measure ${index + 1}`} onClick={() => session.set(["measures", index], null)} />
      </div>
      {isNote ? <TextField label={`Text of note ${index + 1}`} placeholder="Write a note" isNew={isNew} value={measure.text} onChange={(text) => session.set(["measures", index, "text"], text)} /> : null}
      {measure.kind === "distance" ? <Profile measure={measure} unit={unit} /> : null}
      {measure.kind === "box" || measure.kind === "sphere" ? <Region kind={measure.kind} measure={measure} unit={unit} /> : null}
    </div>
  );
}

/** Sent when it is left, or with Enter: every change is a step of undo. */
function TextField({ label, placeholder, value, isNew = false, onChange }: { label: string; placeholder: string; value: string; isNew?: boolean; onChange: (text: string) => void }): ReactNode {
  const [draft, setDraft] = useState<string | null>(null);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isNew) field.current?.focus();
  }, [isNew]);
  return (
    <input
      ref={field}
      title={placeholder}
      className="label-name"
      type="text"
      aria-label={label}
      placeholder={placeholder}
      maxLength={MAX_TEXT}
      value={draft ?? value}
      onChange={(event) => setDraft(event.currentTarget.value)}
      onBlur={() => {
        if (draft !== null && draft.trim() !== value) onChange(draft.trim());
        setDraft(null);
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Enter") event.currentTarget.blur();
        if (event.key === "Escape") setDraft(null);
      }}
    />
  );
}

/** What a request gives, sent again when it is another or the volume is. */
function useAnswer<Request, Answer>(measure: Measure, request: Request, send: (request: Request) => Promise<Answer>): Answer | null {
  const session = useSession();
  const source = useSelect((state) => sceneOf(state)?.volumes[measure.layer]?.source ?? "");
  const text = JSON.stringify(request);
  const key = `${source} ${text}`;
  const [found, setFound] = useState<{ key: string; answer: Answer | null } | null>(null);
  useEffect(() => {
    if (source === "") return undefined;
    let isCurrent = true;
    void session.attempt(send(JSON.parse(text) as Request)).then((answer) => {
      if (isCurrent) setFound({ key, answer });
    });
    return () => {
      isCurrent = false;
    };
  }, [session, send, key, text, source]);
  return found?.key === key ? found.answer : null;
}

function Profile({ measure, unit }: { measure: Measure; unit: string }): ReactNode {
  const [start = [0, 0, 0], stop = [0, 0, 0]] = measure.points;
  const values = useAnswer<ProfileRequest, ProfileValues>(measure, { start: [...start], stop: [...stop], layer: measure.layer, count: 256 }, profile);
  if (!values) return null;
  return <Plot label="Values along the line" values={values.values} range={[0, sizeOf(measure).length ?? 0]} unit={unit} />;
}

function Region({ kind, measure, unit }: { kind: "box" | "sphere"; measure: Measure; unit: string }): ReactNode {
  const [first = [0, 0, 0], second = [0, 0, 0]] = measure.points;
  const found = useAnswer<RegionRequest, RegionValues>(measure, { kind, points: [[...first], [...second]], layer: measure.layer }, regionValues);
  if (!found) return <p className="hint">Reading the voxels…</p>;
  if (found.mean === null || found.sigma === null) return <p className="hint">This region contains no voxels.</p>;
  const volume = unit ? `${short(found.volume)} ${unitText(unit)}³` : "";
  return (
    <>
      <dl className="region number">
        <div>
          <dt>mean</dt>
          <dd>{short(found.mean)}</dd>
        </div>
        <div>
          <dt>σ</dt>
          <dd>{short(found.sigma)}</dd>
        </div>
        <div>
          <dt>n</dt>
          <dd>
            {found.voxels.toLocaleString("en")} {volume ? `(${volume})` : ""}
          </dd>
        </div>
      </dl>
      <Plot label="Histogram" values={found.counts} range={[found.low ?? 0, found.high ?? 0]} isFilled />
    </>
  );
}
