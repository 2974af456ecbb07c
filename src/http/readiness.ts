/** One thing that must be well before traffic is taken; rejects when it is not. */
export type ReadinessCheck = () => Promise<unknown>;

/** Null when all is well, else a sentence that says what is not. Never rejects. */
export type Readiness = () => Promise<string | null>;

/**
 * Runs the named checks side by side and gives each `timeoutMs`. The sentence names the checks that failed, not
 * why: the endpoint is open to anyone.
 */
export function createReadiness(checks: Record<string, ReadinessCheck>, timeoutMs = 2_000): Readiness {
  const names = Object.keys(checks);
  return async () => {
    const well = await Promise.all(names.map((name) => passes(checks[name]!, timeoutMs)));
    const failed = names.filter((_, i) => !well[i]);
    return failed.length === 0 ? null : `Not ready: ${failed.join(', ')}`;
  };
}

async function passes(check: ReadinessCheck, timeoutMs: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  try {
    return await Promise.race([check().then(() => true), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(timer);
  }
}
