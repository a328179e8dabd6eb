// Starting a task for one file or several. Here: its form. Not here: which options a command has (commands.ts).

import type { ReactNode } from "react";
import { commandLine, COMMANDS, folderOf, locationOf, outputFor, type CommandName } from "./commands";
import { useAgent } from "./context";
import { Checkbox, Choice, FormDialog, TextInput } from "./FormDialog";
import type { FileInfo } from "./protocol";
import { ResourceFields } from "./ResourceFields";
import { parseResources } from "./resources";

interface TaskDialogProps {
  name: CommandName;
  files: readonly string[];
  info: FileInfo | null;
  onClose: () => void;
}

export function TaskDialog({ name, files, info, onClose }: TaskDialogProps): ReactNode {
  const { api, refreshJobs } = useAgent();
  const command = COMMANDS[name];
  const [first = ""] = files;
  const title = `${command.title}: ${files.length > 1 ? `${files.length} files` : first.slice(first.lastIndexOf("/") + 1)}`;
  const isWholeFile = name === "share" || name === "reconstruct" || name === "denoise";
  const start = async (values: Record<string, string>): Promise<void> => {
    await api.startBatch({
      files: isWholeFile ? [...files] : files.map((file) => locationOf(file, info)),
      folder: folderOf(first),
      arguments: commandLine(name, values),
      ...parseResources(values),
    });
    await refreshJobs();
  };
  return (
    <FormDialog title={title} submitLabel="Start" onSubmit={start} onClose={onClose}>
      {command.output ? <TextInput name="output" label="Output" initial={outputFor(command, files)} /> : null}
      {command.options.length > 0 ? (
        <div className="agent-fields">
          {command.options.map(({ flag, label, choices, example }) =>
            choices ? <Choice key={flag} name={flag} label={label} choices={choices} /> : example ? <TextInput key={flag} name={flag} label={label} example={example} /> : <Checkbox key={flag} name={flag} label={label} />,
          )}
        </div>
      ) : null}
      <TextInput name="more" label="More options" example="as on the command line" />
      <ResourceFields gpus="none" memory="automatic" />
    </FormDialog>
  );
}
