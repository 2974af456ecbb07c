/** A dependency of this process. */
export interface ReadinessCheck {
  /** Rejects if the dependency is not healthy. A timeout counts as not healthy. */
  check: () => Promise<unknown>;
  /** Whether events cannot be accepted without it. Otherwise the process is only degraded. */
  needed: boolean;
}

/** Dependencies of this process that are not healthy, by the names of their checks. */
export interface Readiness {
  /** Without these, events cannot be accepted, and the process is not ready. */
  missing: readonly string[];
  /** Without these, some requests are refused or take longer. */
  degraded: readonly string[];
}

/**
 * Runs the checks concurrently, each with a limit of `timeoutMs`. Concurrent calls share one run. The result names the failed checks but not
 * the reasons, because the endpoint is public. Never rejects.
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
