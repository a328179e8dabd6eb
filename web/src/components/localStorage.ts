// Small things that the browser remembers between visits; where it may not, they are forgotten.

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
    // A browser that keeps nothing is a browser all the same.
  }
}
