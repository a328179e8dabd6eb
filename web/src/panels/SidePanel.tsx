// The panel on the right: what is in the scene and how it is rendered.

import type { ReactNode } from "react";
import { Segmented } from "../components/Choice";
import type { Labels } from "../protocol";
import { compareAs } from "../session/actions";
import { useSession } from "../session/session";
import { canControl, chosenVolume, comparedAs, isOwner, sceneOf } from "../state/selectors";
import type { ComparedAs } from "../state/state";
import { useSelect } from "../state/store";
import { ClipSection } from "./ClipSection";
import { LayersSection } from "./LayersSection";
import { RenderingSection } from "./RenderingSection";
import { MeasureSection } from "./MeasureSection";
import { ModelSection } from "./ModelSection";
import { NetworkSection } from "./NetworkSection";
import { LabelsSection } from "./labels/LabelsSection";
import { PlacementSection } from "./PlacementSection";
import { MeshSection, PointsSections } from "./OtherLayers";
import { TransferSection } from "./transfer/TransferSection";
import { ViewSection } from "./ViewSection";

export function SidePanel(): ReactNode {
  const session = useSession();
  const compared = useSelect(comparedAs);
  const mayControl = useSelect(canControl);
  const editedView = useSelect((state) => state.interface.editedView);
  return (
    <aside className="panel pane scrolls grows" aria-label="Rendering settings" inert={!mayControl}>
      {compared ? (
        <div className="panel-top">
          <Segmented
            label="Scene to edit"
            value={editedView}
            options={[
              { value: "main", label: "Now" },
              { value: "other", label: "Before" },
            ]}
            onChange={(view) => session.page({ editedView: view })}
          />
          <Segmented<ComparedAs>
            label="Compare"
            value={compared}
            options={[
              { value: "beside", label: "Side by side" },
              { value: "swipe", label: "Swipe", title: "Both at full size, with a line between them to drag" },
              { value: "difference", label: "Difference", title: "Where the two images differ, three times as bright" },
            ]}
            onChange={(next) => compareAs(session, next)}
          />
        </div>
      ) : null}
      <LayersSection />
      <MeasureSection />
      <Chosen />
      <ViewSection />
    </aside>
  );
}

function Chosen(): ReactNode {
  const chosen = useSelect((state) => state.interface.chosen);
  const scene = useSelect(sceneOf);
  const volume = useSelect(chosenVolume);
  const mayApply = useSelect(isOwner);
  const points = chosen.kind === "points" ? scene?.points[chosen.index] : undefined;
  const mesh = chosen.kind === "meshes" ? scene?.meshes[chosen.index] : undefined;
  if (points) return <PointsSections layer={points} index={chosen.index} />;
  if (mesh) return <MeshSection layer={mesh} index={chosen.index} />;
  if (!volume) return null;
  const { layer, index, description } = volume;
  return (
    <>
      {description && isInteger(description.dtype) ? <ShownAs index={index} isLabels={layer.labels !== null} /> : null}
      {layer.labels ? (
        <LabelsSection chosen={volume} labels={layer.labels} />
      ) : (
        <TransferSection path={["volumes", index]} name={description?.name ?? "volume"} transfer={layer.transfer} histogram={description?.histogram ?? null} />
      )}
      <ModelSection chosen={volume} />
      <RenderingSection chosen={volume} />
      <ClipSection chosen={volume} />
      <PlacementSection chosen={volume} />
      {mayApply && !layer.labels ? <NetworkSection chosen={volume} /> : null}
    </>
  );
}

const isInteger = (dtype: string): boolean => /^u?int/.test(dtype);

/** Whole numbers may be values, or the names of objects. */
function ShownAs({ index, isLabels }: { index: number; isLabels: boolean }): ReactNode {
  const session = useSession();
  const show = (kind: "values" | "labels"): void => {
    const labels: Labels | null = kind === "labels" ? { opacity: 1, colors: [], isolated: [], is_mask: false } : null;
    session.set(["volumes", index, "labels"], labels);
  };
  return (
    <div className="panel-top">
      <Segmented
        label="Shown as"
        value={isLabels ? "labels" : "values"}
        options={[
          { value: "values", label: "Values", title: "The numbers are measured values" },
          { value: "labels", label: "Labels", title: "The numbers name objects, each in a colour of its own" },
        ]}
        onChange={show}
      />
    </div>
  );
}
