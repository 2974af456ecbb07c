/** The server's time. The browser's clock may be wrong, and a test clock shows any day. */

/** How far the server's clock is ahead of the browser's; a test clock stands still. */
let aheadMs = 0;
let standsAtMs: number | null = null;

/** Takes the time from an answer that was just received. */
export function setServerTime({ now, testClock }: { now: string; testClock: boolean }): void {
  const nowMs = Date.parse(now);
  aheadMs = nowMs - Date.now();
  standsAtMs = testClock ? nowMs : null;
}

/** Epoch milliseconds by the server's clock. */
export const serverNowMs = (): number => standsAtMs ?? Date.now() + aheadMs;
