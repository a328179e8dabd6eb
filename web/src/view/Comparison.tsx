// The images of one scene, or of two that are compared. Here: one over the other, the line between them, their names.
// Not here: side by side (Stage.tsx), which of them is edited (panels/SidePanel.tsx).

import type { CSSProperties, ReactNode } from "react";
import { DragLine } from "../components/DragLine";
import type { LayerList, View } from "../protocol";
import { useSession } from "../session/session";
import { comparedAs } from "../state/selectors";
import { useSelect } from "../state/store";
import { ViewCanvas } from "./ViewCanvas";

const MAIN = "The scene. Arrow keys rotate, Shift and arrow keys pan, plus and minus zoom, question mark opens the help.";
const OTHER = "The scene before the changes, with the same camera.";

const isCompressed = (layers: LayerList | undefined): boolean => (layers?.layers[0]?.compression ?? "") !== "";

/** The image of the scene; that of the other one over it, unless they are side by side. */
export function MainImage(): ReactNode {
  const compared = useSelect(comparedAs);
  const session = useSession();
  const split = useSelect((state) => state.interface.split);
  const isOver = compared === "swipe" || compared === "difference";
  return (
    <>
      <div className={isOver ? `over is-${compared}` : "over"} style={{ "--split": `${split}%` } as CSSProperties}>
        <ViewCanvas view="main" label={MAIN} />
        {isOver ? <ComparedImage /> : null}
      </div>
      {compared === "swipe" ? (
        <div style={{ "--split": `${split}%` } as CSSProperties}>
          <ComparedTag view="main" isSwiped />
          <ComparedTag view="other" isSwiped />
          <DragLine label="Between the two scenes" isUpright value={split} count={101} offset={0} step={0.5} onChange={(next) => session.page({ split: next })} />
        </div>
      ) : null}
    </>
  );
}

export function ComparedImage(): ReactNode {
  return <ViewCanvas view="other" label={OTHER} />;
}

export function ComparedTag({ view, isSwiped = false }: { view: View; isSwiped?: boolean }): ReactNode {
  const isNeural = useSelect((state) => state.training !== null || isCompressed(state.layersOf.main));
  const wasNeural = useSelect((state) => isCompressed(state.layersOf.other));
  const names: Record<View, string> = { main: isNeural ? "neural" : "now", other: isNeural && !wasNeural ? "raw" : "before" };
  return <span className={`tag ${view === "main" ? "is-left" : "is-right"}${isSwiped ? " is-swiped" : ""} grows`}>{names[view]}</span>;
}
