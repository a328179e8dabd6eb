// The labels of a layer. Here: the list with names, colours and visibility; the table as a file.
// Not here: what is drawn (geometry/labels.ts), the legend (view/Legend.tsx).

import { useEffect, useState, type ReactNode } from "react";
import { Button, IconButton } from "../../components/Button";
import { Switch } from "../../components/Choice";
import { save } from "../../components/files";
import { Section } from "../../components/Section";
import { Slider } from "../../components/Slider";
import { VirtualList } from "../../components/VirtualList";
import { labelCsv, labelTable } from "../../connection/requests";
import { allShown, areAllShown, colorOf, isDrawn, isolating, labelOf, toggled, withLabel } from "../../geometry/labels";
import { short, unitText } from "../../geometry/measures";
import type { LabelList, LabelRow, Labels } from "../../protocol";
import { useSession } from "../../session/session";
import { BrushSection } from "./BrushSection";
import type { ChosenVolume } from "../../state/selectors";
import { useSelect } from "../../state/store";
import { fromHex, hex } from "../../transfer/points";

const COUNTED_AT_ONCE = 2 ** 28;
const ROW_HEIGHT = 30;
const LIST_HEIGHT = 246;
const MAX_NAME = 200;
const AFTER_PAINTING_MS = 800;

export function LabelsSection({ chosen, labels }: { chosen: ChosenVolume; labels: Labels }): ReactNode {
  const session = useSession();
  const { index, description } = chosen;
  const { table, count, isCounting } = useTable(chosen);
  const download = async (): Promise<void> => {
    const text = await session.attempt(labelCsv(index));
    if (text !== null) save(new Blob([text], { type: "text/csv" }), `${description?.name ?? "labels"}.csv`);
  };
  return (
    <Section title="Labels" aside={table ? <IconButton icon="download" label="Download the table as CSV" onClick={() => void download()} /> : null}>
      <Slider label="Opacity" value={labels.opacity} low={0} high={1} onChange={(value, isMoving) => session.set(["volumes", index, "labels", "opacity"], value, isMoving)} />
      <Switch
        label="Volume only where labels are"
        title="Draw the values of volumes where labels are shown below, and nowhere else; the labels themselves only on slices"
        isOn={labels.is_mask}
        onChange={(isOn) => session.set(["volumes", index, "labels", "is_mask"], isOn)}
      />
      <BrushSection chosen={chosen} labels={labels} table={table} />
      {table ? (
        <LabelRows table={table} index={index} labels={labels} />
      ) : (
        <Button isWide isDisabled={isCounting} onClick={count}>
          {isCounting ? "Counting the labels…" : "List and count the labels"}
        </Button>
      )}
    </Section>
  );
}

/** The labels that there are: at once where they are few, on request in a large volume; counted again after painting. */
function useTable({ index, layer, description }: ChosenVolume): { table: LabelList | null; count: () => void; isCounting: boolean } {
  const session = useSession();
  const [found, setFound] = useState<{ key: string; edit: number; table: LabelList | null } | null>(null);
  const voxels = (description?.shape ?? [0, 0, 0]).reduce((product, length) => product * length, 1);
  const [wanted, setWanted] = useState("");
  const key = `${index} ${description?.name ?? ""}`;
  const { edit } = layer;
  const isWanted = voxels > 0 && (voxels <= COUNTED_AT_ONCE || wanted === key);
  const isSame = found?.key === key;
  const isKnown = isSame && found.edit === edit;
  useEffect(() => {
    if (!isWanted || isKnown) return undefined;
    let isCurrent = true;
    const ask = (): void => {
      void session.attempt(labelTable(index)).then((table) => {
        if (isCurrent) setFound({ key, edit, table });
      });
    };
    // While a user paints, every stroke would be counted.
    const timer = setTimeout(ask, isSame ? AFTER_PAINTING_MS : 0);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [session, index, key, edit, isWanted, isKnown, isSame]);
  const count = (): void => {
    setFound(null);
    setWanted(key);
  };
  return { table: isSame ? found.table : null, count, isCounting: isWanted && !isSame };
}

function LabelRows({ table, index, labels }: { table: LabelList; index: number; labels: Labels }): ReactNode {
  const session = useSession();
  const [search, setSearch] = useState("");
  const picked = useSelect((state) => (state.interface.label?.layer === index ? state.interface.label.label : null));
  const set = (next: Labels, isMoving = false): void => session.set(["volumes", index, "labels"], next, isMoving);
  const rows = table.rows.filter((row) => matches(row, labels, search));
  return (
    <>
      <div className="label-search">
        <input
          className="field"
          type="search"
          placeholder={`${table.rows.length.toLocaleString("en")} ${table.rows.length === 1 ? "label" : "labels"}: number or name`}
          aria-label="Find a label"
          title="Show only labels whose number or name contains this text"
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
        <Button isDisabled={areAllShown(labels)} onClick={() => set(allShown(labels))} title="Show every label">
          All
        </Button>
      </div>
      <VirtualList label="Labels" rows={rows} rowHeight={ROW_HEIGHT} maxHeight={LIST_HEIGHT} keyOf={(row) => row.label} shown={rows.findIndex((row) => row.label === picked)}>
        {(row) => <Row row={row} unit={table.unit} labels={labels} isPicked={row.label === picked} set={set} pick={() => session.page({ label: { layer: index, label: row.label } })} />}
      </VirtualList>
    </>
  );
}

const matches = (row: LabelRow, labels: Labels, search: string): boolean => {
  const text = search.trim().toLowerCase();
  return text === "" || String(row.label).startsWith(text) || labelOf(labels, row.label).name.toLowerCase().includes(text);
};

interface RowProps {
  row: LabelRow;
  unit: string;
  labels: Labels;
  isPicked: boolean;
  set: (labels: Labels, isMoving?: boolean) => void;
  pick: () => void;
}

function Row({ row: { label, voxels, volume }, unit, labels, isPicked, set, pick }: RowProps): ReactNode {
  const { name } = labelOf(labels, label);
  const isOnly = labels.isolated.length === 1 && labels.isolated[0] === label;
  const isShown = isDrawn(labels, label);
  const size = unit ? `${short(volume)} ${unitText(unit)}³` : `${voxels.toLocaleString("en")}`;
  return (
    <div className={`label-row${isPicked ? " is-chosen" : ""}${isShown ? "" : " is-hidden"}`} onFocus={pick} onPointerDown={pick}>
      <input
        type="color"
        className="swatch"
        aria-label={`Colour of label ${label}`}
        title="Colour"
        value={hex([...colorOf(labels, label)])}
        onChange={(event) => set(withLabel(labels, label, { color: fromHex(event.currentTarget.value) }), true)}
        onBlur={() => {
          if (labelOf(labels, label).color) set(labels);
        }}
      />
      <NameField label={label} name={name} onChange={(next) => set(withLabel(labels, label, { name: next }))} />
      <span className="hint number" title={`${voxels.toLocaleString("en")} voxels`}>
        {size}
      </span>
      <IconButton icon="focus" label={isOnly ? "Show the others again" : `Show only label ${label}`} isOn={isOnly} onClick={() => set(isolating(labels, label))} />
      <IconButton icon={isShown ? "eye" : "hidden"} label={isShown ? `Hide label ${label}` : `Show label ${label}`} onClick={() => set(toggled(labels, label))} />
    </div>
  );
}

/** Sent when it is left, or with Enter: every change is a step of undo. */
function NameField({ label, name, onChange }: { label: number; name: string; onChange: (name: string) => void }): ReactNode {
  const [draft, setDraft] = useState<string | null>(null);
  const finish = (): void => {
    if (draft !== null && draft.trim() !== name) onChange(draft.trim());
    setDraft(null);
  };
  return (
    <input
      className="label-name"
      type="text"
      aria-label={`Name of label ${label}`}
      title={`Label ${label}`}
      placeholder={`Label ${label}`}
      maxLength={MAX_NAME}
      value={draft ?? name}
      onChange={(event) => setDraft(event.currentTarget.value)}
      onBlur={finish}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === "Enter") event.currentTarget.blur();
        if (event.key === "Escape") setDraft(null);
      }}
    />
  );
}
