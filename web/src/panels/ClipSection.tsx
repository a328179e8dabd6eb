// Clipping: a box of voxels, and planes. Here: their numbers. Not here: the handles in the image (view/ClipHandles).

import type { ReactNode } from "react";
import { axesOf } from "../geometry/camera";
import { withFace } from "../geometry/clipping";
import { boxOrNone, centreOf, extentOf, wholeOf } from "../geometry/extent";
import { placed } from "../geometry/transform";
import { short } from "../geometry/measures";
import { dot, scale, type Vector } from "../geometry/vector";
import { Button, IconButton } from "../components/Button";
import { Switch } from "../components/Choice";
import { NumberField } from "../components/NumberField";
import { Section } from "../components/Section";
import type { ClipPlane, LayerDescription } from "../protocol";
import { useSession } from "../session/session";
import { isOwner, sceneOf, type ChosenVolume } from "../state/selectors";
import { useSelect } from "../state/store";

const ROWS = [
  { name: "x", order: 2 },
  { name: "y", order: 1 },
  { name: "z", order: 0 },
] as const;

const threeDigits = (value: number): string => short(value, 3);

export function ClipSection({ chosen }: { chosen: ChosenVolume }): ReactNode {
  const session = useSession();
  const areShown = useSelect((state) => state.interface.areClipHandlesShown);
  const mayExport = useSelect(isOwner);
  const { description, layer, index } = chosen;
  if (!description) return null;
  return (
    <Section title="Clipping" isOpenAtFirst={false} isInUse={areShown}>
      <Switch label="Show handles" isOn={areShown} onChange={(areClipHandlesShown) => session.page({ areClipHandlesShown })} />
      <BoxNumbers chosen={chosen} description={description} />
      <div className="pair">
        <Button title="Show the whole volume" isDisabled={layer.clip === null} onClick={() => session.set(["volumes", index, "clip"], null)}>
          Reset
        </Button>
        {mayExport ? (
          <Button icon="download" title="Save the clipped part as TIFF, NRRD or Zarr" onClick={() => session.openDialog("export")}>
            Export
          </Button>
        ) : null}
      </div>
      <Planes chosen={chosen} description={description} />
    </Section>
  );
}

function BoxNumbers({ chosen, description }: { chosen: ChosenVolume; description: LayerDescription }): ReactNode {
  const session = useSession();
  const box = chosen.layer.clip ?? wholeOf(description);
  const set = (order: number, isHigh: boolean, place: number): void =>
    session.set(["volumes", chosen.index, "clip"], boxOrNone(description, withFace(description, box, order, isHigh, place)));
  return (
    <div className="box-numbers">
      {ROWS.map(({ name, order }) => (
        <div key={name} className="row">
          <span className={`axis-name is-${name}`}>{name}</span>
          <NumberField label={`Clip ${name} from`} value={box.start[order]} onChange={(place) => set(order, false, place)} />
          <span className="hint">to</span>
          <NumberField label={`Clip ${name} to`} value={box.stop[order]} onChange={(place) => set(order, true, place)} />
        </div>
      ))}
    </div>
  );
}

function Planes({ chosen, description }: { chosen: ChosenVolume; description: LayerDescription }): ReactNode {
  const session = useSession();
  const planes = useSelect((state) => sceneOf(state)?.planes ?? null);
  const centre = placed(chosen.layer.transform, centreOf(extentOf(description, null)));
  const add = (): void => {
    const { camera } = session.store.get();
    if (!camera) return;
    const normal = axesOf(camera).forward;
    session.set(["planes", planes?.length ?? 0], { normal, offset: dot(normal, centre) });
    session.page({ areClipHandlesShown: true });
  };
  return (
    <div className="stack">
      {planes?.map((plane, index) => (
        // Planes have no names: the index identifies them.
        <PlaneNumbers key={index} index={index} plane={plane} centre={centre} />
      ))}
      <Button icon="plus" look="plain" title="Add a plane through the middle; everything in front of it is hidden" onClick={add}>
        Add a plane facing you
      </Button>
    </div>
  );
}

function PlaneNumbers({ index, plane, centre }: { index: number; plane: ClipPlane; centre: Vector }): ReactNode {
  const session = useSession();
  const setNormal = (normal: Vector): void => session.set(["planes", index], { normal, offset: dot(normal, centre) });
  return (
    <div className="card">
      <div className="row">
        <span className="label">Plane {index + 1}</span>
        <IconButton icon="redo" label="Flip the plane" onClick={() => session.set(["planes", index], { normal: scale(plane.normal, -1), offset: -plane.offset })} />
        <IconButton
          icon="eye"
          label="Align the plane with the view"
          onClick={() => {
            const { camera } = session.store.get();
            if (camera) setNormal(axesOf(camera).forward);
          }}
        />
        <IconButton icon="trash" label="Remove the plane" onClick={() => session.set(["planes", index], null)} />
      </div>
      <p className="hint">Normal (x, y, z) and offset</p>
      <div className="row is-plane">
        {plane.normal.map((one, axis) => (
          <NumberField
            key={axis}
            label={`Normal, ${"xyz"[axis]}`}
            value={one}
            step={0.05}
            text={threeDigits}
            className="field is-number is-small"
            onChange={(value) => setNormal([axis === 0 ? value : plane.normal[0], axis === 1 ? value : plane.normal[1], axis === 2 ? value : plane.normal[2]])}
          />
        ))}
        <NumberField label="Offset" value={plane.offset} text={threeDigits} className="field is-number is-small" onChange={(offset) => session.set(["planes", index, "offset"], offset)} />
      </div>
    </div>
  );
}
