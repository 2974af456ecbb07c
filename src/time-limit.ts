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
