// The shape and type of a file without a header. Here: asking for them, with a guess to begin with.

import { useEffect, useState, type ReactNode } from "react";
import { middleSlice } from "../connection/requests";
import { bytes as bytesText } from "../geometry/measures";
import { Select } from "../components/Choice";
import { NumberField } from "../components/NumberField";
import { neededBytes, TYPES, type RawLayout } from "./raw";

const ORDERS = [
  { value: "le", label: "little endian" },
  { value: "be", label: "big endian" },
] as const;
const AXES = ["z", "y", "x"] as const;
const SETTLE_MS = 200;

interface RawFormProps {
  bytes: number;
  layout: RawLayout;
  /** What to show a slice of; empty where the file is too small for this layout. */
  slice: string;
  onChange: (layout: RawLayout) => void;
}

export function RawForm({ bytes, layout, slice, onChange }: RawFormProps): ReactNode {
  // Until an offset is typed, the remaining bytes count as a header.
  const [isOffsetTyped, setOffsetTyped] = useState(false);
  const change = (part: Partial<RawLayout>): void => {
    const next = { ...layout, ...part };
    onChange(isOffsetTyped || part.offset !== undefined ? next : { ...next, offset: Math.max(0, bytes - neededBytes(next)) });
  };
  const resize = (axis: number, length: number): void => {
    const [z, y, x] = layout.shape.map((one, index) => (index === axis ? Math.round(length) : one));
    change({ shape: [z ?? 1, y ?? 1, x ?? 1] });
  };
  return (
    <div className="stack" role="group" aria-label="Shape and type">
      <p className="hint">This file has no header. Enter its shape and type.</p>
      <div className="row">
        <span className="label">Voxels</span>
        {AXES.map((axis, index) => (
          <label key={axis} className="row">
            <b className={`is-${axis}`}>{axis}</b>
            <NumberField className="field is-number is-small" label={`Voxels along ${axis}`} value={layout.shape[index] ?? 1} low={1} text={String} onChange={(length) => resize(index, length)} />
          </label>
        ))}
      </div>
      <Select label="Type" value={layout.dtype} options={TYPES.map((value) => ({ value, label: value }))} onChange={(dtype) => change({ dtype })} />
      <Select label="Byte order" value={layout.order} options={ORDERS} onChange={(order) => change({ order })} />
      <div className="row">
        <span className="label">Header size (bytes)</span>
        <NumberField
          label="Header size (bytes)"
          value={layout.offset}
          low={0}
          text={String}
          onChange={(offset) => {
            setOffsetTyped(true);
            change({ offset: Math.round(offset) });
          }}
        />
      </div>
      <Size bytes={bytes} needed={layout.offset + neededBytes(layout)} />
      <MiddleSlice path={slice} />
    </div>
  );
}

/** With a wrong shape or type, it looks like noise or stripes. */
function MiddleSlice({ path }: { path: string }): ReactNode {
  const [address, setAddress] = useState("");
  useEffect(() => {
    if (path === "") return undefined;
    let isWanted = true;
    let shown = "";
    // While numbers are typed, most layouts are not meant.
    const timer = setTimeout(() => {
      middleSlice(path).then(
        (image) => {
          if (isWanted) setAddress((shown = URL.createObjectURL(image)));
        },
        () => (isWanted ? setAddress("") : undefined),
      );
    }, SETTLE_MS);
    return () => {
      isWanted = false;
      clearTimeout(timer);
      if (shown) URL.revokeObjectURL(shown);
    };
  }, [path]);
  return path && address ? <img className="raw-slice" src={address} alt="The middle slice across z with this shape and type" title="The middle slice across z: with a wrong shape or type it looks like stripes or noise" /> : null;
}

function Size({ bytes, needed }: { bytes: number; needed: number }): ReactNode {
  if (needed > bytes) return <p className="is-bad">This needs {bytesText(needed)}, but the file has only {bytesText(bytes)}.</p>;
  return <p className="hint">{needed === bytes ? "This matches the size of the file." : `${bytesText(bytes - needed)} at the end of the file are ignored.`}</p>;
}
