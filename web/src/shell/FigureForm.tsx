// What an image shows beside the scene, its file format, and a preview. Not here: its size (CaptureDialog).

import { useEffect, useState, type ReactNode } from "react";
import { figure } from "../connection/requests";
import { Button } from "../components/Button";
import { Segmented, Switch } from "../components/Choice";
import { Slider } from "../components/Slider";
import { save } from "../components/files";
import { fitted } from "../geometry/paper";
import type { Annotations, FigureRequest } from "../protocol";
import { useSession } from "../session/session";
import { isOwner, sceneOf } from "../state/selectors";
import { useSelect } from "../state/store";

const PREVIEW_EDGE = 380;
const PAUSE_MS = 250;

const MARKS = [
  { part: "is_color_bar", label: "Colour bar" },
  { part: "is_scale_bar", label: "Scale bar" },
  { part: "is_axes", label: "Directions of the axes" },
  { part: "is_legend", label: "Names of labels" },
] as const;

interface FigureFormProps {
  chosen: { width: number; height: number };
  dpi: number;
}

export function FigureForm({ chosen, dpi }: FigureFormProps): ReactNode {
  const session = useSession();
  const mayKeepScene = useSelect(isOwner);
  const start = useSelect((state) => sceneOf(state)?.annotations ?? null);
  const name = useSelect((state) => state.layers?.layers[0]?.name ?? "image");
  const [changed, setChanged] = useState<Partial<Annotations>>({});
  const [format, setFormat] = useState<FigureRequest["format"]>("png");
  const [isTransparent, setTransparent] = useState(false);
  const [hasScene, setHasScene] = useState(true);
  const [isBusy, setBusy] = useState(false);
  if (!start) return null;
  const annotations = { ...start, ...changed };
  const look = { is_transparent: isTransparent, annotations };
  const take = async (): Promise<void> => {
    setBusy(true);
    const image = await session.attempt(figure({ ...chosen, ...look, format, dpi, has_scene: hasScene && mayKeepScene }));
    setBusy(false);
    if (!image) return;
    save(image, `${name}.${format === "png" ? "png" : "tif"}`);
    session.openDialog("none");
  };
  return (
    <>
      <Preview request={{ ...fitted(chosen, PREVIEW_EDGE), ...look, format: "png", dpi: null, has_scene: false }} />
      {MARKS.map(({ part, label }) => (
        <Switch key={part} label={label} isOn={annotations[part]} onChange={(isOn) => setChanged({ ...changed, [part]: isOn })} />
      ))}
      {annotations.is_color_bar ? (
        <label className="row">
          <span className="label">Unit of the values</span>
          <input className="field" maxLength={24} value={annotations.value_unit} onChange={(event) => setChanged({ ...changed, value_unit: event.currentTarget.value })} />
        </label>
      ) : null}
      <Slider label="Text size" value={annotations.text_scale} low={0.5} high={4} isLogarithmic onChange={(value) => setChanged({ ...changed, text_scale: value })} />
      <Switch label="Transparent background" isOn={isTransparent} onChange={setTransparent} />
      {mayKeepScene ? <Switch label="Scene in the file: drop it on the page to open this view again" isOn={hasScene} onChange={setHasScene} /> : null}
      <Segmented
        label="File format"
        value={format ?? "png"}
        options={[
          { value: "png", label: "PNG" },
          { value: "tiff", label: "TIFF" },
        ]}
        onChange={setFormat}
      />
      <footer className="dialog-foot">
        <span className="hint number">
          {chosen.width} × {chosen.height} pixels, {((chosen.width / dpi) * 2.54).toFixed(1)} × {((chosen.height / dpi) * 2.54).toFixed(1)} cm
        </span>
        <Button look="main" isDisabled={isBusy} onClick={() => void take()}>
          {isBusy ? "Rendering…" : "Save image"}
        </Button>
      </footer>
    </>
  );
}

/** The image as it will be, small; it follows what is chosen after a pause. */
function Preview({ request }: { request: FigureRequest }): ReactNode {
  const session = useSession();
  const [address, setAddress] = useState<string | null>(null);
  const wanted = JSON.stringify(request);
  useEffect(() => {
    let isWanted = true;
    const timer = setTimeout(() => {
      void session.attempt(figure(JSON.parse(wanted) as FigureRequest)).then((image) => {
        if (image && isWanted) setAddress(URL.createObjectURL(image));
      });
    }, PAUSE_MS);
    return () => {
      isWanted = false;
      clearTimeout(timer);
    };
  }, [session, wanted]);
  useEffect(() => () => (address ? URL.revokeObjectURL(address) : undefined), [address]);
  const { width, height } = request;
  return (
    <div className="figure-preview" style={{ aspectRatio: `${width} / ${height}` }}>
      {address ? <img src={address} alt="Preview" /> : null}
    </div>
  );
}
