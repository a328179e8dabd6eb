// Correcting labels: brush and eraser, and saving what was painted.
// Here: their settings. Not here: strokes (slices/painting.ts), the list of labels (LabelsSection.tsx).

import { useState, type ReactNode } from "react";
import { Button } from "../../components/Button";
import { Switch } from "../../components/Choice";
import { NumberField } from "../../components/NumberField";
import { Slider } from "../../components/Slider";
import { saveLabels } from "../../connection/requests";
import { colorOf, labelName } from "../../geometry/labels";
import type { LabelList, Labels } from "../../protocol";
import { actionOf } from "../../session/actions";
import { folderOf } from "../../session/location";
import { useSession } from "../../session/session";
import { isOwner, type ChosenVolume } from "../../state/selectors";
import type { Brush, PageState } from "../../state/state";
import { useSelect } from "../../state/store";
import { css } from "../../transfer/points";

interface BrushProps {
  chosen: ChosenVolume;
  labels: Labels;
  table: LabelList | null;
}

export function BrushSection({ chosen, labels, table }: BrushProps): ReactNode {
  const session = useSession();
  const tool = useSelect((state) => state.interface.tool);
  const brush = useSelect((state) => state.interface.brush);
  const maySave = useSelect(isOwner);
  const change = (part: Partial<Brush>): void => session.page({ brush: { ...brush, ...part } });
  const isOn = tool === "paint" || tool === "erase";
  const largest = table?.rows.reduce((most, { label }) => Math.max(most, label), 0) ?? null;
  return (
    <div className="stack brush" role="group" aria-label="Brush">
      <div className="pair">
        <Button icon="brush" isOn={tool === "paint"} title={`${actionOf("paint").name} (D)`} onClick={() => actionOf("paint").run(session)}>
          Paint
        </Button>
        <Button icon="eraser" isOn={tool === "erase"} title={`${actionOf("erase").name} (E)`} onClick={() => actionOf("erase").run(session)}>
          Erase
        </Button>
      </div>
      {isOn ? (
        <>
          <div className="row">
            <span className="swatch is-plain" style={{ background: css([...colorOf(labels, brush.label)]) }} />
            <span className="label">{labelName(labels, brush.label)}</span>
            <NumberField label="Label of the brush" className="field is-number is-small" value={brush.label} low={1} text={String} onChange={(label) => change({ label: Math.round(label) })} />
            <Button isDisabled={largest === null} title="The next number that no label has yet" onClick={() => change({ label: (largest ?? 0) + 1 })}>
              New
            </Button>
          </div>
          <Slider label="Radius (voxels)" value={brush.radius} low={0.5} high={64} isLogarithmic isOpenEnded onChange={(radius) => change({ radius: Math.max(0.5, Math.min(128, radius)) })} />
          <Switch label="Ball (all slices that it reaches)" isOn={brush.isBall} onChange={(isBall) => change({ isBall })} />
          {tool === "paint" ? (
            <Switch label="Leave other labels as they are" isOn={brush.isOnlyEmpty} onChange={(isOnlyEmpty) => change({ isOnlyEmpty })} />
          ) : (
            <Switch label={`Erase only ${labelName(labels, brush.label)}`} isOn={brush.isOnlyLabel} onChange={(isOnlyLabel) => change({ isOnlyLabel })} />
          )}
          <p className="hint">Drag on a slice. [ and ] change the radius, Ctrl Z undoes a stroke.</p>
        </>
      ) : null}
      {maySave ? <SaveLabels chosen={chosen} /> : null}
    </div>
  );
}

/** The file that labels were opened from is never changed: what was painted becomes a new one. */
function SaveLabels({ chosen }: { chosen: ChosenVolume }): ReactNode {
  const session = useSession();
  const [path, setPath] = useState<string | null>(null);
  const [isSaving, setSaving] = useState(false);
  const save = async (): Promise<void> => {
    if (path === null) return;
    setSaving(true);
    const saved = await session.attempt(saveLabels({ layer: chosen.index, path }));
    setSaving(false);
    if (!saved) return;
    setPath(null);
    session.notify("success", `The labels were saved to ${saved.path}.`);
  };
  if (path === null) {
    return (
      <Button icon="download" title="As a new Zarr or HDF5 file" onClick={() => setPath(suggestedPath(session.store.get(), chosen))}>
        Save labels…
      </Button>
    );
  }
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      <input className="field" type="text" spellCheck={false} aria-label="File for the labels" title="A name that ends in .zarr or .h5" value={path} onKeyDown={(event) => event.stopPropagation()} onChange={(event) => setPath(event.currentTarget.value)} />
      <div className="pair">
        <Button look="main" isSubmit isDisabled={isSaving || path === ""} onClick={() => undefined}>
          {isSaving ? "Saving…" : "Save"}
        </Button>
        <Button onClick={() => setPath(null)}>Cancel</Button>
      </div>
    </form>
  );
}

/** Beside what was opened, under a new name. */
function suggestedPath({ welcome, server, interface: page }: PageState, { description }: ChosenVolume): string {
  const sources = server?.scene.volumes.map(({ source }) => source) ?? [];
  const folder = sources.map(folderOf).find(Boolean) ?? (page.folder || welcome?.roots[0] || "");
  const stem = (description?.name ?? "labels").replace(/(\.[a-z0-9]+)+$/i, "");
  return `${folder}/${stem}-edited.zarr`;
}
