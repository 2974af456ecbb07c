/**
 * A signal that aborts with another one, or after a time. With `AbortSignal.any([ending, AbortSignal.timeout(ms)])`, Node 20
 * collects the timeout as garbage, and it never fires.
 */
export function withTimeLimit(ending: AbortSignal, ms: number): AbortSignal {
  const limit = new AbortController();
  if (ending.aborted) limit.abort(ending.reason);
  ending.addEventListener('abort', () => limit.abort(ending.reason), { once: true, signal: limit.signal });
  setTimeout(() => limit.abort(), ms).unref();
  return limit.signal;
}

/** The value of a promise, or `late` if it takes longer. Rejects as the promise does in that time; later rejections are ignored. */
export async function inTime<T, L>(work: Promise<T>, ms: number, late: L): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined;
  const isLate = new Promise<L>((resolve) => {
    // After this process stood still, timers run before an answer is read.
    timer = setTimeout(() => setImmediate(resolve, late), ms);
  });
  try {
    return await Promise.race([work, isLate]);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether a promise resolves. */
export const succeeds = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => true,
    () => false,
  );
