// The arrangement of the images: the scene, the compared scene, the slices.

import { useEffect, useRef, type CSSProperties, type ReactNode } from "react";
import { useSession } from "../session/session";
import { areSlicesShown, foreignRatio, isComparing } from "../state/selectors";
import type { LayerList } from "../protocol";
import { useSelect } from "../state/store";
import { AxesGizmo } from "./AxesGizmo";
import { ClipHandles } from "./ClipHandles";
import { Legend } from "./Legend";
import { Measures } from "./Measures";
import { ViewCanvas } from "./ViewCanvas";
import { TrainingBoxes } from "./TrainingBoxes";
import { ScaleBar } from "./ScaleBar";
import { SlicePlanes } from "../slices/SlicePlanes";
import { Slices } from "../slices/Slices";

const MAIN = "The scene. Arrow keys rotate, Shift and arrow keys pan, plus and minus zoom, question mark opens the help.";

const isCompressed = (layers: LayerList | undefined): boolean => (layers?.layers[0]?.compression ?? "") !== "";

export function Stage(): ReactNode {
  const session = useSession();
  const images = useRef<HTMLDivElement>(null);
  const areSlices = useSelect(areSlicesShown);
  const layout = useSelect((state) => state.interface.layout);
  const isCompared = useSelect(isComparing);
  const ratio = useSelect(foreignRatio);
  const isNeural = useSelect((state) => state.training !== null || isCompressed(state.layersOf.main));
  const wasNeural = useSelect((state) => isCompressed(state.layersOf.other));
  const isCovered = useSelect((state) => state.interface.scan !== "");
  useEffect(() => {
    const element = images.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) session.resize(entry.contentRect.width, entry.contentRect.height);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [session]);
  return (
    <main className={areSlices ? `stage has-slices is-${layout}` : "stage"} inert={isCovered}>
      <div className={`views${isCompared ? " is-compared" : ""}${ratio ? " is-fitted" : ""}`} style={{ "--ratio": ratio ?? 1 } as CSSProperties} ref={images}>
        <div className="view">
          <div className="frame">
            <ViewCanvas view="main" label={MAIN} />
            {areSlices ? <SlicePlanes /> : null}
            <TrainingBoxes />
            <ClipHandles />
            <Measures />
          </div>
          {isCompared ? <span className="tag is-left grows">{isNeural ? "neural" : "now"}</span> : null}
        </div>
        {isCompared ? (
          <div className="view">
            <div className="frame">
              <ViewCanvas view="other" label="The scene before the changes, with the same camera." />
            </div>
            <span className="tag is-right grows">{isNeural && !wasNeural ? "raw" : "before"}</span>
          </div>
        ) : null}
        <Legend />
        <ScaleBar />
        <AxesGizmo />
      </div>
      {areSlices ? <Slices /> : null}
    </main>
  );
}
