// The arrangement of the images: the scene, the compared scene, the slices.

import { useEffect, useRef, type CSSProperties, type ReactNode } from "react";
import { useSession } from "../session/session";
import { areSlicesShown, foreignRatio, isComparing } from "../state/selectors";
import { useSelect } from "../state/store";
import { AxesGizmo } from "./AxesGizmo";
import { ClipHandles } from "./ClipHandles";
import { Legend } from "./Legend";
import { Measures } from "./Measures";
import { ViewCanvas } from "./ViewCanvas";
import { ScaleBar } from "./ScaleBar";
import { SlicePlanes } from "../slices/SlicePlanes";
import { Slices } from "../slices/Slices";

const MAIN = "The scene. Arrow keys rotate, Shift and arrow keys pan, plus and minus zoom, question mark opens the help.";

export function Stage(): ReactNode {
  const session = useSession();
  const images = useRef<HTMLDivElement>(null);
  const areSlices = useSelect(areSlicesShown);
  const layout = useSelect((state) => state.interface.layout);
  const isCompared = useSelect(isComparing);
  const ratio = useSelect(foreignRatio);
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
            <ClipHandles />
            <Measures />
          </div>
          {isCompared ? <span className="tag is-left grows">now</span> : null}
        </div>
        {isCompared ? (
          <div className="view">
            <div className="frame">
              <ViewCanvas view="other" label="The scene before the changes, with the same camera." />
            </div>
            <span className="tag is-right grows">before</span>
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
