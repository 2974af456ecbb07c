import { dayIn, momentAfter, wallTimeMs } from '../zone.ts';

/** Minutes after local midnight: from `from` (inclusive) to `to` (exclusive), which may lie after midnight. */
export interface QuietHours {
  from: number;
  to: number;
}

/**
 * When the quiet hours that include a time end in a zone (epoch ms); `null` if none include it. Equal bounds mean no quiet
 * hours. Wall-clock times that a change of the clocks skips or repeats are those of `wallTimeMs`.
 */
export function quietUntilMs({ from, to }: QuietHours, zone: string | null, nowMs: number): number | null {
  if (from === to) return null;
  const today = dayIn(zone, nowMs);
  for (const day of [today - 1, today]) {
    const beginMs = wallTimeMs(zone, day, from);
    const endMs = momentAfter({ minute: to }, zone, beginMs).atMs;
    if (beginMs <= nowMs && nowMs < endMs) return endMs;
  }
  return null;
}
