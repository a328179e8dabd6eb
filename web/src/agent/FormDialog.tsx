// A form in a dialog. Here: its fields by name, an error beside the button that caused it, cancelling. Not here: what is sent.

import { useState, type ReactNode } from "react";
import { Button } from "../components/Button";
import { DialogWindow } from "../components/Dialog";
import { errorText } from "./context";

interface FormDialogProps {
  title: string;
  submitLabel: string;
  /** values: by the name of the field, without empty ones. */
  onSubmit: (values: Record<string, string>) => Promise<unknown>;
  onClose: () => void;
  children: ReactNode;
}

export function FormDialog({ title, submitLabel, onSubmit, onClose, children }: FormDialogProps): ReactNode {
  const [error, setError] = useState("");
  const [isSending, setSending] = useState(false);
  const submit = async (form: HTMLFormElement): Promise<void> => {
    setError("");
    setSending(true);
    try {
      await onSubmit(valuesOf(form));
      onClose();
    } catch (reason) {
      setError(errorText(reason));
      setSending(false);
    }
  };
  return (
    <DialogWindow title={title} onClose={onClose}>
      <form
        className="agent-form"
        onSubmit={(event) => {
          event.preventDefault();
          void submit(event.currentTarget);
        }}
      >
        {children}
        {error ? (
          <p className="agent-error" role="alert">
            {error}
          </p>
        ) : null}
        <footer className="agent-actions">
          <Button onClick={onClose}>Cancel</Button>
          <Button look="main" isSubmit isDisabled={isSending} onClick={() => undefined}>
            {submitLabel}
          </Button>
        </footer>
      </form>
    </DialogWindow>
  );
}

function valuesOf(form: HTMLFormElement): Record<string, string> {
  const entries = [...new FormData(form)].filter((entry): entry is [string, string] => typeof entry[1] === "string" && entry[1] !== "");
  return Object.fromEntries(entries);
}

interface FieldProps {
  name: string;
  label: string;
  example?: string;
  initial?: string;
}

export function TextInput({ name, label, example, initial }: FieldProps): ReactNode {
  return (
    <label className="agent-field">
      <span>{label}</span>
      <input className="field" name={name} placeholder={example} defaultValue={initial} autoComplete="off" spellCheck={false} />
    </label>
  );
}

export function Choice({ name, label, choices }: { name: string; label: string; choices: readonly string[] }): ReactNode {
  return (
    <label className="agent-field">
      <span>{label}</span>
      <select className="field" name={name}>
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice || "default"}
          </option>
        ))}
      </select>
    </label>
  );
}

export function Checkbox({ name, label }: { name: string; label: string }): ReactNode {
  return (
    <label className="agent-check">
      <input type="checkbox" name={name} />
      <span>{label}</span>
    </label>
  );
}
