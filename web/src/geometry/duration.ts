// Times in words. Here: seconds as people say them.

/** 72 seconds are "1 min 12 s"; under ten seconds there is a digit. */
export function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (seconds < 9.95) return `${Number(seconds.toFixed(1))} s`;
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return parts(Math.floor(whole / 60), "min", whole % 60, "s");
  const minutes = Math.round(seconds / 60);
  return parts(Math.floor(minutes / 60), "h", minutes % 60, "min");
}

const parts = (large: number, unit: string, small: number, smaller: string): string => (small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smaller}`);

/** A time that is only expected: without more digits than are known. */
export function about(seconds: number): string {
  const step = seconds < 10 ? 1 : seconds < 60 ? 5 : seconds < 600 ? 10 : 60;
  return `about ${duration(Math.max(1, Math.ceil(seconds / step) * step))}`;
}
