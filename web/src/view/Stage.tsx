// The arrangement of the images: the scene, the compared scene, the slices.

import { useEffect, useRef, type CSSProperties, type ReactNode } from "react";
import { useSession } from "../session/session";
import { areSlicesShown, comparedAs, foreignRatio } from "../state/selectors";
import { useSelect } from "../state/store";
import { AxesGizmo } from "./AxesGizmo";
import { ClipHandles } from "./ClipHandles";
import { ComparedImage, ComparedTag, MainImage } from "./Comparison";
import { Legend } from "./Legend";
import { Measures } from "./Measures";
import { TrainingBoxes } from "./TrainingBoxes";
import { ScaleBar } from "./ScaleBar";
import { SlicePlanes } from "../slices/SlicePlanes";
import { Slices } from "../slices/Slices";

export function Stage(): ReactNode {
  const session = useSession();
  const images = useRef<HTMLDivElement>(null);
  const areSlices = useSelect(areSlicesShown);
  const layout = useSelect((state) => state.interface.layout);
  const isBeside = useSelect((state) => comparedAs(state) === "beside");
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
      <div className={`views${isBeside ? " is-beside" : ""}${ratio ? " is-fitted" : ""}`} style={{ "--ratio": ratio ?? 1 } as CSSProperties} ref={images}>
        <div className="view">
          <div className="frame">
            <MainImage />
            {areSlices ? <SlicePlanes /> : null}
            <TrainingBoxes />
            <ClipHandles />
            <Measures />
          </div>
          {isBeside ? <ComparedTag view="main" /> : null}
        </div>
        {isBeside ? (
          <div className="view">
            <div className="frame">
              <ComparedImage />
            </div>
            <ComparedTag view="other" />
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
