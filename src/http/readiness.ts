/** One thing that this process needs. */
export interface ReadinessCheck {
  /** Rejects when it is not well; one that takes too long counts as not well. */
  check: () => Promise<unknown>;
  /** Whether no event can be taken without it. Otherwise the process only does less. */
  needed: boolean;
}

/** What of this process is not well, by the names of the checks. */
export interface Readiness {
  /** Without these no event can be taken: not ready. */
  missing: readonly string[];
  /** Without these some requests are refused, or take longer. */
  degraded: readonly string[];
}

/**
 * Runs the named checks side by side and gives each `timeoutMs`. Calls at the same time share one run, and the answer names the checks
 * that failed, not why: the endpoint is open to anyone. Never rejects.
 */
export function createReadiness(
  checks: Readonly<Record<string, ReadinessCheck>>,
  timeoutMs = 2_000,
): () => Promise<Readiness> {
  const names = Object.keys(checks);
  let running: Promise<Readiness> | null = null;
  const run = async (): Promise<Readiness> => {
    const well = await Promise.all(names.map((name) => passes(checks[name]!.check, timeoutMs)));
    const failed = names.filter((_, i) => !well[i]);
    return {
      missing: failed.filter((name) => checks[name]!.needed),
      degraded: failed.filter((name) => !checks[name]!.needed),
    };
  };
  return () => (running ??= run().finally(() => (running = null)));
}

async function passes(check: ReadinessCheck['check'], timeoutMs: number): Promise<boolean> {
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
