// A network for the chosen volume. Here: choosing a file, stating what a bare ONNX file does not, applying it.
// Not here: progress and stopping, as of every task (shell/Notifications.tsx), the labels (labels/LabelsSection.tsx).

import { useState, type ReactNode } from "react";
import { Button } from "../components/Button";
import { Select, Switch } from "../components/Choice";
import { choose } from "../components/files";
import { NumberField } from "../components/NumberField";
import { Section } from "../components/Section";
import { applyNetwork, upload } from "../connection/requests";
import { useSession } from "../session/session";
import type { ChosenVolume } from "../state/selectors";
import { useSelect } from "../state/store";
import { FORM, requestOf, type NetworkForm } from "./network";

const AXES = [
  { value: "", label: "automatic" },
  { value: "bcyx", label: "b c y x (2D)" },
  { value: "byxc", label: "b y x c (2D, channels last)" },
  { value: "bczyx", label: "b c z y x (3D)" },
  { value: "bzyxc", label: "b z y x c (3D, channels last)" },
] as const;
const BEFORE = [
  { value: "", label: "nothing" },
  { value: "zero_mean_unit_variance", label: "zero mean, unit variance" },
  { value: "scale_range", label: "0 to 1" },
] as const;
const AFTER = [
  { value: "", label: "nothing" },
  { value: "sigmoid", label: "sigmoid" },
  { value: "softmax", label: "softmax" },
] as const;

export function NetworkSection({ chosen }: { chosen: ChosenVolume }): ReactNode {
  const session = useSession();
  const [form, setForm] = useState<NetworkForm>(FORM);
  const [file, setFile] = useState<File | null>(null);
  const [isSending, setSending] = useState(false);
  const isRunning = useSelect((state) => Object.values(state.tasks).some((task) => task.state === "running" && task.name.startsWith("Applying ")));
  const change = (part: Partial<NetworkForm>): void => setForm({ ...form, ...part });
  const apply = async (): Promise<void> => {
    if (!file) return;
    setSending(true);
    const sent = await session.attempt(upload(file));
    if (sent) await session.attempt(applyNetwork(requestOf(sent.path, chosen.index, form)));
    setSending(false);
  };
  return (
    <Section title="Network" isOpenAtFirst={false}>
      <div className="row">
        <Button icon="upload" title="An ONNX file, or a package of bioimage.io" onClick={() => void choose(".onnx,.zip").then((found) => (found ? setFile(found) : undefined))}>
          Choose a network
        </Button>
        <span className="hint is-cut" title={file?.name}>
          {file?.name ?? "ONNX, or a package of bioimage.io"}
        </span>
      </div>
      {file && !file.name.toLowerCase().endsWith(".zip") ? <BareForm form={form} onChange={change} /> : null}
      <Button isWide isDisabled={!file || isSending || isRunning} onClick={() => void apply()}>
        {isSending ? "Sending the network…" : isRunning ? "A network is being applied" : "Apply to this volume"}
      </Button>
    </Section>
  );
}

/** What the file of a network alone does not state. */
function BareForm({ form, onChange }: { form: NetworkForm; onChange: (part: Partial<NetworkForm>) => void }): ReactNode {
  return (
    <div className="stack" role="group" aria-label="Network options">
      <Select label="Input axes" value={form.axes} options={AXES} onChange={(axes) => onChange({ axes })} />
      <Select label="Preprocessing" value={form.before} options={BEFORE} onChange={(before) => onChange({ before })} />
      <Select label="Postprocessing" value={form.after} options={AFTER} onChange={(after) => onChange({ after })} />
      <div className="row" title="For a network with one output channel: voxels above this value have label 1">
        <Switch label="Custom threshold" isOn={form.threshold !== null} onChange={(isOn) => onChange({ threshold: isOn ? 0.5 : null })} />
        {form.threshold === null ? null : <NumberField label="Threshold" value={form.threshold} onChange={(threshold) => onChange({ threshold })} />}
      </div>
    </div>
  );
}
