// Files from and to the user's own machine.

export function save(content: Blob, name: string): void {
  const address = URL.createObjectURL(content);
  follow(address, name);
  // The browser has begun to read it by then.
  setTimeout(() => URL.revokeObjectURL(address), 30_000);
}

export const saveText = (text: string, name: string): void => save(new Blob([text], { type: "application/json" }), name);

/** Let the browser fetch an address into a file. */
export function follow(address: string, name: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
}

/** Ask for a file; null when nothing was chosen. */
export function choose(accept: string): Promise<File | null> {
  const input = document.createElement("input");
  input.type = "file";
  input.accept = accept;
  return new Promise((resolve) => {
    input.addEventListener("change", () => resolve(input.files?.[0] ?? null));
    input.addEventListener("cancel", () => resolve(null));
    input.click();
  });
}
