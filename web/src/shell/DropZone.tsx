// A file or a folder dropped on the page is uploaded and opened.

import { useEffect, useState, type ReactNode } from "react";
import { uploadFile } from "../session/openFile";
import { filesOf, uploadFolder } from "../session/uploadFolder";
import { useSession } from "../session/session";
import { isOwner } from "../state/selectors";

export function DropZone(): ReactNode {
  const session = useSession();
  const [isOver, setOver] = useState(false);
  useEffect(() => {
    const carriesFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
    const over = (event: DragEvent): void => {
      if (!carriesFiles(event)) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent): void => {
      event.preventDefault();
      setOver(false);
      const file = event.dataTransfer?.files[0];
      const entry = event.dataTransfer?.items[0]?.webkitGetAsEntry();
      const how = event.shiftKey ? "add" : "replace";
      if (!file) return;
      if (!isOwner(session.store.get())) session.notify("error", "Only the owner can open files.", "Ask for an owner link.");
      else if (entry?.isDirectory) void filesOf(entry).then((files) => uploadFolder(session, files, how));
      else void uploadFile(session, file, how);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, [session]);
  if (!isOver) return null;
  return (
    <div className="drop">
      <p>
        Drop to open<span className="hint">hold Shift to add it as a layer</span>
      </p>
    </div>
  );
}
