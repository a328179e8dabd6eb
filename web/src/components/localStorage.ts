// Small values that the browser stores between visits, if it is allowed to.

const PREFIX = "pellucid-";

export function loadFlag(key: string, otherwise: boolean): boolean {
  try {
    const kept = localStorage.getItem(PREFIX + key);
    return kept === null ? otherwise : kept === "yes";
  } catch {
    return otherwise;
  }
}

export function saveFlag(key: string, value: boolean): void {
  try {
    localStorage.setItem(PREFIX + key, value ? "yes" : "no");
  } catch {
    // Storage is optional.
  }
}
